"""Charts of a section, as Vega-Lite specifications over data that the page holds once for all of them."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mggcn.errors import InputError
from mggcn.record import RunRecord
from mggcn.report.lines import Line, Section

OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#999999")
"""Colours that most people tell apart; yellow and black are left out, as one page or the other hides them."""
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
_SHAPES = ("circle", "square", "triangle-up", "diamond")
_MOST_POINTS = 5_000
_SHORTEST = 1e-6  # a scale of logarithms has no place for 0
_ACCURACY, _ROW_HEIGHT, _HEIGHT = "test accuracy, %", 20, 340

Values = list[dict[str, Any]]


@dataclass(frozen=True)
class Chart:
    """A chart.

    Attributes:
        spec: in Vega-Lite, without its data.
        data: the name of its data.
    """

    spec: dict[str, Any]
    data: str


def most_points(found: Sequence[Section]) -> int:
    """How many points a curve may have for the page to stay small."""
    return max(10, min(150, _MOST_POINTS // sum(len(section.lines) for section in found)))


def data(section: Section, points: int) -> dict[str, Values]:
    """What the charts of a section show: ``lines``, a row for each line, and ``curves``, a row for each epoch."""
    front = pareto(section.lines)
    lines = [
        {
            "method": line.label,
            "accuracy": _percent(one.accuracy),
            "low": _percent(one.accuracy - (one.accuracy_std or 0.0)),
            "high": _percent(one.accuracy + (one.accuracy_std or 0.0)),
            "seconds": _short(max(one.seconds_to_best, _SHORTEST)),
            "memory": _short(one.peak_memory_bytes / 2**20),
            "front": line in front,
        }
        for line in section.lines
        for one in [line.figures]
    ]
    curves = [
        {"method": line.label, **point} for line in section.lines for point in _thinned(_curve(line.records[0]), points)
    ]
    return {"lines": lines, "curves": curves}


def pareto(lines: Sequence[Line]) -> list[Line]:
    """The lines that no other one beats in both time to best and accuracy, the fastest first."""
    front: list[Line] = []
    for line in sorted(lines, key=lambda line: (line.figures.seconds_to_best, -line.figures.accuracy)):
        if not front or line.figures.accuracy > front[-1].figures.accuracy:
            front.append(line)
    return front


def charts(section: Section, lines: str, curves: str | None) -> dict[str, Chart]:
    """The charts of a section by name.

    Args:
        section: what they are of.
        lines: the name under which the page holds the data of the lines.
        curves: that of the curves; None where there are none.
    """
    alt = require_altair()
    made = {
        "accuracy": (_accuracy(alt, section, lines), lines),
        "time": (_time(alt, section, lines), lines),
        "memory": (_memory(alt, section, lines), lines),
    }
    if curves:
        by_time = alt.X("seconds:Q", title="time since the start, s", scale=_log(alt))
        by_epoch = alt.X("epoch:Q", title="epoch")
        made["by_time"] = (_convergence(alt, section, curves, by_time, "time"), curves)
        made["by_epoch"] = (_convergence(alt, section, curves, by_epoch, "epochs"), curves)
    return {name: Chart(_plain(spec.to_dict()), source) for name, (spec, source) in made.items()}


def require_altair() -> Any:
    """The charting library, or an error that says how to get it."""
    try:
        import altair
        import vl_convert  # noqa: F401
    except ImportError:
        raise InputError("report needs altair: pip install 'mggcn[report]'") from None
    return altair


def _accuracy(alt: Any, section: Section, source: str) -> Any:
    base = alt.Chart(alt.NamedData(source)).encode(y=_methods(alt))
    spread = base.mark_rule(strokeWidth=2, color=OKABE_ITO[4]).encode(
        x=alt.X("low:Q", title=_ACCURACY, scale=alt.Scale(zero=False)), x2="high:Q"
    )
    means = base.mark_point(filled=True, size=70, color=OKABE_ITO[0], opacity=1).encode(
        x=alt.X("accuracy:Q", title=_ACCURACY), tooltip=_told(alt, "accuracy", "low", "high")
    )
    return alt.layer(spread, means).properties(
        title=f"{section.title}: test accuracy, mean ± standard deviation over seeds",
        width="container",
        height=_ROW_HEIGHT * len(section.lines),
    )


def _time(alt: Any, section: Section, source: str) -> Any:
    x = alt.X("seconds:Q", title="time to the best epoch, s", scale=_log(alt))
    y = alt.Y("accuracy:Q", title=_ACCURACY, scale=alt.Scale(zero=False))
    base = alt.Chart(alt.NamedData(source)).encode(x=x, y=y)
    front = (
        base.transform_filter("datum.front")
        .mark_line(interpolate="step-after", color=OKABE_ITO[6], strokeDash=[4, 3])
        .encode(order=alt.Order("seconds:Q"))
    )
    marks = base.mark_point(filled=True, size=90, opacity=1).encode(
        color=_colours(alt, section),
        shape=alt.Shape("method:N", scale=_scale(alt, section, _SHAPES), legend=_legend(alt)),
        tooltip=_told(alt, "accuracy", "seconds", "memory"),
    )
    return alt.layer(front, marks).properties(
        title=f"{section.title}: accuracy against time; the dashed line is the Pareto front",
        width="container",
        height=_HEIGHT,
    )


def _memory(alt: Any, section: Section, source: str) -> Any:
    bars = alt.Chart(alt.NamedData(source)).mark_bar(color=OKABE_ITO[0])
    return bars.encode(
        x=alt.X("memory:Q", title="peak memory, MiB"), y=_methods(alt), tooltip=_told(alt, "memory")
    ).properties(
        title=f"{section.title}: peak memory, the largest over seeds",
        width="container",
        height=_ROW_HEIGHT * len(section.lines),
    )


def _convergence(alt: Any, section: Section, source: str, x: Any, against: str) -> Any:
    chosen = alt.selection_point(name="chosen", fields=["method"], bind="legend")
    lines = alt.Chart(alt.NamedData(source)).mark_line(strokeWidth=1.5, clip=True)
    return (
        lines.encode(
            x=x,
            y=alt.Y("accuracy:Q", title="validation accuracy, %", scale=alt.Scale(zero=False)),
            color=_colours(alt, section),
            strokeDash=alt.StrokeDash("method:N", scale=_scale(alt, section, _DASHES), legend=_legend(alt)),
            opacity=alt.condition(chosen, alt.value(1), alt.value(0.08)),
            tooltip=_told(alt, "accuracy", "epoch", "seconds"),
        )
        .add_params(chosen)
        .properties(
            title=f"{section.title}: validation accuracy against {against}, the first seed of each method",
            width="container",
            height=_HEIGHT,
        )
    )


def _log(alt: Any) -> Any:
    return alt.Scale(type="log", nice=False, padding=12)


def _methods(alt: Any) -> Any:
    return alt.Y("method:N", title=None, sort=None, axis=alt.Axis(labelLimit=220))


def _colours(alt: Any, section: Section) -> Any:
    labels = [line.label for line in section.lines]
    colours = list(itertools.islice(itertools.cycle(OKABE_ITO), len(labels)))
    return alt.Color("method:N", scale=alt.Scale(domain=labels, range=colours), legend=_legend(alt))


def _scale(alt: Any, section: Section, marks: Sequence[Any]) -> Any:
    """A second sign beside the colour, which changes whenever the colours begin anew."""
    labels = [line.label for line in section.lines]
    signs = [marks[number // len(OKABE_ITO) % len(marks)] for number in range(len(labels))]
    return alt.Scale(domain=labels, range=signs)


def _legend(alt: Any) -> Any:
    return alt.Legend(orient="bottom", columns=3, symbolLimit=0, title=None, labelLimit=220)


def _told(alt: Any, *names: str) -> list[Any]:
    return [alt.Tooltip("method:N"), *(alt.Tooltip(f"{name}:Q", format=",.4~g") for name in names)]


def _plain(spec: dict[str, Any]) -> dict[str, Any]:
    """Without the address of the schema and the theme, which the page sets."""
    return {name: value for name, value in spec.items() if name not in ("$schema", "config")}


def _curve(record: RunRecord) -> Values:
    times = itertools.accumulate(
        (epoch.train_seconds + epoch.eval_seconds for epoch in record.curve), initial=record.prepare_seconds
    )
    next(times)
    return [
        {
            "epoch": epoch.number,
            "seconds": _short(max(seconds, _SHORTEST)),
            "accuracy": _percent(epoch.val_accuracy),
        }
        for epoch, seconds in zip(record.curve, times, strict=True)
    ]


def _thinned(values: Values, most: int) -> Values:
    """At most ``most`` of the values, evenly spaced, the first and the last among them."""
    if len(values) <= most:
        return values
    return [values[round(number * (len(values) - 1) / (most - 1))] for number in range(most)]


def _percent(share: float) -> float:
    return round(share * 100, 3)


def _short(value: float) -> float:
    return float(f"{value:.4g}")
