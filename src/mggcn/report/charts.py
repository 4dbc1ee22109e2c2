"""Charts of a section, as Vega-Lite specifications over data that the page holds once for all of them."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mggcn.errors import InputError
from mggcn.records.lines import Line, Section
from mggcn.records.record import RunRecord, spaced

OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#999999")
"""Colours that most people tell apart; yellow and black are left out, as one page or the other hides them."""
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
_SHAPES = ("circle", "square", "triangle-up", "diamond")
_MOST_POINTS = 5_000
_SHORTEST = 1e-6  # a scale of logarithms has no place for 0
ACCURACY, HEIGHT, _ROW_HEIGHT = "test accuracy, %", 340, 20

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
    """How many points a curve may have for the page to stay quick."""
    return max(10, min(150, _MOST_POINTS // max(1, sum(len(section.run) for section in found))))


def lines_data(section: Section) -> Values:
    """A row for each line that was run."""
    front = pareto(section.run)
    return [
        {
            "method": line.label,
            "accuracy": percent(one.accuracy),
            "low": percent(one.accuracy - (one.accuracy_std or 0.0)),
            "high": percent(one.accuracy + (one.accuracy_std or 0.0)),
            "seconds": _short(max(one.seconds_to_best, _SHORTEST)),
            "memory": _short(one.peak_memory_bytes / 2**20),
            "front": line in front,
        }
        for line in section.run
        for one in [line.figures]
    ]


def has_curve(line: Line) -> bool:
    """Whether a line's first run has two epochs at least, which a curve needs."""
    return len(line.records[0].curve) > 1


def curves_data(section: Section, points: int) -> Values:
    """A row for each epoch of the first seed of each line, at most so many for one of them."""
    return [
        {"method": line.label, **point}
        for line in section.run
        if has_curve(line)
        for point in _thinned(_curve(line.records[0]), points)
    ]


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
        by_epoch = alt.X("epoch:Q", title="epoch", axis=alt.Axis(tickMinStep=1, format="d"))
        made["by_time"] = (_convergence(alt, section, curves, by_time, "time"), curves)
        made["by_epoch"] = (_convergence(alt, section, curves, by_epoch, "epochs"), curves)
    return {name: drawn(spec, source) for name, (spec, source) in made.items()}


def drawn(chart: Any, source: str) -> Chart:
    """A chart of Altair's without the address of the schema and the theme, which the page sets."""
    spec = {name: value for name, value in chart.to_dict().items() if name not in ("$schema", "config")}
    return Chart(spec, source)


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
        x=alt.X("low:Q", title=ACCURACY, scale=alt.Scale(zero=False)), x2="high:Q"
    )
    means = base.mark_point(filled=True, size=70, color=OKABE_ITO[0], opacity=1).encode(
        x=alt.X("accuracy:Q", title=ACCURACY), tooltip=told(alt, "accuracy", "low", "high")
    )
    return alt.layer(spread, means).properties(
        title=f"{section.dataset}: test accuracy, mean ± standard deviation over seeds",
        width="container",
        height=_ROW_HEIGHT * len(section.run),
    )


def _time(alt: Any, section: Section, source: str) -> Any:
    x = alt.X("seconds:Q", title="time to the best epoch, s", scale=_log(alt))
    y = alt.Y("accuracy:Q", title=ACCURACY, scale=alt.Scale(zero=False))
    base = alt.Chart(alt.NamedData(source)).encode(x=x, y=y)
    front = (
        base.transform_filter("datum.front")
        .mark_line(interpolate="step-after", color=OKABE_ITO[6], strokeDash=[4, 3])
        .encode(order=alt.Order("seconds:Q"))
    )
    marks = base.mark_point(filled=True, size=90, opacity=1).encode(
        color=colours(alt, _labels(section)),
        shape=shapes(alt, _labels(section)),
        tooltip=told(alt, "accuracy", "seconds", "memory"),
    )
    return alt.layer(front, marks).properties(
        title=f"{section.dataset}: accuracy against time; the dashed line is the Pareto front",
        width="container",
        height=HEIGHT,
    )


def _memory(alt: Any, section: Section, source: str) -> Any:
    bars = alt.Chart(alt.NamedData(source)).mark_bar(color=OKABE_ITO[0])
    return bars.encode(
        x=alt.X("memory:Q", title="peak memory, MiB"), y=_methods(alt), tooltip=told(alt, "memory")
    ).properties(
        title=f"{section.dataset}: peak memory, the largest over seeds",
        width="container",
        height=_ROW_HEIGHT * len(section.run),
    )


def _convergence(alt: Any, section: Section, source: str, x: Any, against: str) -> Any:
    chosen = alt.selection_point(name="chosen", fields=["method"], bind="legend")
    lines = alt.Chart(alt.NamedData(source)).mark_line(strokeWidth=1.5, clip=True)
    return (
        lines.encode(
            x=x,
            y=alt.Y("accuracy:Q", title="validation accuracy, %", scale=alt.Scale(zero=False)),
            color=colours(alt, _labels(section)),
            strokeDash=alt.StrokeDash("method:N", scale=_scale(alt, _labels(section), _DASHES), legend=_legend(alt)),
            opacity=alt.condition(chosen, alt.value(1), alt.value(0.08)),
            tooltip=told(alt, "accuracy", "epoch", "seconds"),
        )
        .add_params(chosen)
        .properties(
            title=f"{section.dataset}: validation accuracy against {against}, the first seed of each method",
            width="container",
            height=HEIGHT,
        )
    )


def _log(alt: Any) -> Any:
    return alt.Scale(type="log", nice=False, padding=12)


def _methods(alt: Any) -> Any:
    return alt.Y("method:N", title=None, sort=None, axis=alt.Axis(labelLimit=220))


def colours(alt: Any, labels: Sequence[str]) -> Any:
    """A colour for each label."""
    chosen = list(itertools.islice(itertools.cycle(OKABE_ITO), len(labels)))
    return alt.Color("method:N", scale=alt.Scale(domain=list(labels), range=chosen), legend=_legend(alt))


def shapes(alt: Any, labels: Sequence[str]) -> Any:
    """A shape for each label, beside its colour."""
    return alt.Shape("method:N", scale=_scale(alt, labels, _SHAPES), legend=_legend(alt))


def _scale(alt: Any, labels: Sequence[str], marks: Sequence[Any]) -> Any:
    """A second sign beside the colour, which changes whenever the colours begin anew."""
    signs = [marks[number // len(OKABE_ITO) % len(marks)] for number in range(len(labels))]
    return alt.Scale(domain=list(labels), range=signs)


def _labels(section: Section) -> list[str]:
    return [line.label for line in section.run]


def _legend(alt: Any) -> Any:
    return alt.Legend(orient="bottom", columns=3, symbolLimit=0, title=None, labelLimit=220)


def told(alt: Any, *names: str) -> list[Any]:
    """What shows when a pointer rests on a mark."""
    return [alt.Tooltip("method:N"), *(alt.Tooltip(f"{name}:Q", format=",.4~g") for name in names)]


def _curve(record: RunRecord) -> Values:
    times = itertools.accumulate(
        (epoch.train_seconds + epoch.eval_seconds for epoch in record.curve), initial=record.prepare_seconds
    )
    next(times)
    return [
        {
            "epoch": epoch.number,
            "seconds": _short(max(seconds, _SHORTEST)),
            "accuracy": percent(epoch.val_accuracy),
        }
        for epoch, seconds in zip(record.curve, times, strict=True)
    ]


def _thinned(values: Values, most: int) -> Values:
    return [values[number] for number in spaced(len(values), most)]


def percent(share: float) -> float:
    """A share in percent, with as many digits as a chart needs."""
    return round(share * 100, 3)


def _short(value: float) -> float:
    return float(f"{value:.4g}")
