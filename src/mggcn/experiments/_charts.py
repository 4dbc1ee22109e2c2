"""Charts of a section or of one run as Vega-Lite specifications, and their data, which these refer to by name."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

from mggcn.errors import InputError
from mggcn.experiments._rows import Figures, Row, Section
from mggcn.training import RunRecord, spaced

OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#999999")
"""Colours that most people can distinguish; without yellow and black, which are hard to see on light or dark pages."""
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
SHAPES = ("circle", "square", "triangle-up", "diamond")
_MOST_POINTS = 5_000
_SHORTEST = 1e-6  # a logarithmic scale cannot show 0
ACCURACY, _HEIGHT, _ROW_HEIGHT = "test accuracy, %", 340, 20
_LEARNING_COLOURS, _LEARNING_HEIGHT = {"training": OKABE_ITO[1], "validation": OKABE_ITO[0]}, 260

Values = list[dict[str, Any]]
Spec = dict[str, Any]
"""A chart in Vega-Lite, with the name of its data, such as ``rows``, ``curves`` or ``ranking``."""


def most_points(sections: Sequence[Section]) -> int:
    """How many points a curve may have so that the page stays fast."""
    return max(10, min(150, _MOST_POINTS // max(1, sum(len(section.measured) for section in sections))))


def rows_data(section: Section) -> Values:
    """The values of each row that was run."""
    front = [row.label for row in pareto(section.measured)]
    return [
        {
            "method": row.label,
            **spread(row.figures),
            "seconds": _seconds(row.figures.seconds_to_best),
            "memory": _short(_memory_bytes(section, row) / 2**20),
            "front": row.label in front,
        }
        for row in section.measured
    ]


def spread(figures: Figures) -> dict[str, float]:
    """Mean accuracy, and the mean minus and plus the standard deviation, in percent."""
    mean, deviation = figures.accuracy, figures.accuracy_std or 0.0
    return {"accuracy": _percent(mean), "low": _percent(mean - deviation), "high": _percent(mean + deviation)}


def has_curve(row: Row) -> bool:
    """Whether the first run of a row has the two epochs that a curve needs."""
    return len(row.records[0].curve) > 1


def curves_data(section: Section, points: int) -> Values:
    """The epochs of the first seed of each row, at most ``points`` of them."""
    values = []
    for row in filter(has_curve, section.measured):
        curve = _curve(row.records[0])
        values += [{"method": row.label, **curve[number]} for number in spaced(len(curve), points)]
    return values


def pareto(rows: Sequence[Row]) -> list[Row]:
    """The rows that no other row beats in both time to best and accuracy, the fastest first."""
    front: list[Row] = []
    for row in sorted(rows, key=lambda row: (row.figures.seconds_to_best, -row.figures.accuracy)):
        if not front or row.figures.accuracy > front[-1].figures.accuracy:
            front.append(row)
    return front


def charts(section: Section) -> dict[str, Spec]:
    """The charts of :func:`rows_data`, and of :func:`curves_data` if a row has a curve, by name."""
    alt = require_altair()
    drawn = {"accuracy": _accuracy(alt, section), "time": _time(alt, section), "memory": _memory(alt, section)}
    if any(map(has_curve, section.measured)):
        by_time = alt.X("seconds:Q", title="time since the start, s", scale=_log(alt))
        by_epoch = alt.X("epoch:Q", title="epoch", axis=alt.Axis(tickMinStep=1, format="d"))
        drawn["by_time"] = _convergence(alt, section, by_time, "time")
        drawn["by_epoch"] = _convergence(alt, section, by_epoch, "epochs")
    return {name: as_spec(chart) for name, chart in drawn.items()}


def learning_data(row: Row, points: int) -> Values:
    """Loss and accuracy of the first seed's epochs, at most ``points`` of them; losses that are not finite are None."""
    curve = row.records[0].curve
    return [
        {
            "epoch": epoch.number,
            "nodes": nodes,
            "loss": float(f"{loss:.5g}") if math.isfinite(loss) else None,
            "accuracy": round(epoch.val_accuracy * 100, 3) if nodes == "validation" else None,
        }
        for epoch in (curve[number] for number in spaced(len(curve), points))
        for nodes, loss in (("training", epoch.train_loss), ("validation", epoch.val_loss))
    ]


def learning_charts(row: Row) -> dict[str, Spec]:
    """Loss and validation accuracy by epoch; nothing if the first seed has no curve."""
    if not has_curve(row):
        return {}
    alt = require_altair()
    seed = f", seed {row.records[0].seed}" if row.done > 1 else ""
    best = f"the dashed line is the best epoch, {row.records[0].best_epoch}"
    loss = _learning_curve(alt, row, "loss", "loss")
    accuracy = _learning_curve(alt, row, "accuracy", "validation accuracy, %")
    drawn = {
        "loss": sized(loss, f"Training and validation loss{seed}; {best}", _LEARNING_HEIGHT),
        "val_accuracy": sized(accuracy, f"Validation accuracy{seed}", _LEARNING_HEIGHT),
    }
    return {name: as_spec(chart) for name, chart in drawn.items()}


def as_spec(chart: Any) -> Spec:
    """An Altair chart without the address of its schema and without the theme, which the page sets."""
    return {name: value for name, value in chart.to_dict().items() if name not in ("$schema", "config")}


def require_altair() -> Any:
    """Altair, or an error that says how to install it."""
    try:
        import altair
        import vl_convert  # noqa: F401
    except ImportError:
        raise InputError("report needs altair: pip install 'mggcn[report]'") from None
    return altair


def _accuracy(alt: Any, section: Section) -> Any:
    base = alt.Chart(alt.NamedData("rows")).encode(y=_methods(alt))
    rules = base.mark_rule(strokeWidth=2, color=OKABE_ITO[4]).encode(
        x=alt.X("low:Q", title=ACCURACY, scale=alt.Scale(zero=False)), x2="high:Q"
    )
    means = base.mark_point(filled=True, size=70, color=OKABE_ITO[0], opacity=1).encode(
        x=alt.X("accuracy:Q", title=ACCURACY), tooltip=tooltips(alt, "accuracy", "low", "high")
    )
    title = f"{section.dataset}: test accuracy, mean ± standard deviation over seeds"
    return sized(alt.layer(rules, means), title, _ROW_HEIGHT * len(section.measured))


def _time(alt: Any, section: Section) -> Any:
    x = alt.X("seconds:Q", title="time to the best epoch, s", scale=_log(alt))
    y = alt.Y("accuracy:Q", title=ACCURACY, scale=alt.Scale(zero=False))
    base = alt.Chart(alt.NamedData("rows")).encode(x=x, y=y)
    front = (
        base.transform_filter("datum.front")
        .mark_line(interpolate="step-after", color=OKABE_ITO[6], strokeDash=[4, 3])
        .encode(order=alt.Order("seconds:Q"))
    )
    marks = base.mark_point(filled=True, size=90, opacity=1).encode(
        color=colours(alt, _labels(section)),
        shape=shapes(alt, _labels(section)),
        tooltip=tooltips(alt, "accuracy", "seconds", "memory"),
    )
    title = f"{section.dataset}: accuracy against time; the dashed line is the Pareto front"
    return sized(alt.layer(front, marks), title)


def _has_training_memory(section: Section) -> bool:
    return all(row.figures.training_memory_bytes is not None for row in section.measured)


def _memory_bytes(section: Section, row: Row) -> int:
    """The peak memory in training if all rows of the section have it, else that of the whole run."""
    figures = row.figures
    return (figures.training_memory_bytes or 0) if _has_training_memory(section) else figures.peak_memory_bytes


def _memory(alt: Any, section: Section) -> Any:
    bars = alt.Chart(alt.NamedData("rows")).mark_bar(color=OKABE_ITO[0])
    x = alt.X("memory:Q", title="peak memory, MiB")
    phase = " in training" if _has_training_memory(section) else ""
    title = f"{section.dataset}: peak memory{phase}, the largest over seeds"
    height = _ROW_HEIGHT * len(section.measured)
    return sized(bars.encode(x=x, y=_methods(alt), tooltip=tooltips(alt, "memory")), title, height)


def _convergence(alt: Any, section: Section, x: Any, against: str) -> Any:
    selected = alt.selection_point(name="selected", fields=["method"], bind="legend")
    curves = alt.Chart(alt.NamedData("curves")).mark_line(strokeWidth=1.5, clip=True)
    chart = curves.encode(
        x=x,
        y=alt.Y("accuracy:Q", title="validation accuracy, %", scale=alt.Scale(zero=False)),
        color=colours(alt, _labels(section)),
        strokeDash=alt.StrokeDash("method:N", scale=_scale(alt, _labels(section), _DASHES), legend=_legend(alt)),
        opacity=alt.condition(selected, alt.value(1), alt.value(0.08)),
        tooltip=tooltips(alt, "accuracy", "epoch", "seconds"),
    )
    title = f"{section.dataset}: validation accuracy against {against}, the first seed of each method"
    return sized(chart.add_params(selected), title)


def sized(chart: Any, title: str, height: int = _HEIGHT) -> Any:
    """A chart with a title, as wide as the page."""
    return chart.properties(title=title, width="container", height=height)


def _log(alt: Any) -> Any:
    return alt.Scale(type="log", nice=False, padding=12)


def _methods(alt: Any) -> Any:
    return alt.Y("method:N", title=None, sort=None, axis=alt.Axis(labelLimit=220))


def colours(alt: Any, labels: Sequence[str]) -> Any:
    """A colour for each label."""
    cycle = list(itertools.islice(itertools.cycle(OKABE_ITO), len(labels)))
    return alt.Color("method:N", scale=alt.Scale(domain=list(labels), range=cycle), legend=_legend(alt))


def shapes(alt: Any, labels: Sequence[str]) -> Any:
    """A shape for each label, beside its colour."""
    return alt.Shape("method:N", scale=_scale(alt, labels, SHAPES), legend=_legend(alt))


def _scale(alt: Any, labels: Sequence[str], marks: Sequence[Any]) -> Any:
    """A second mark beside the colour, which changes when the colours repeat."""
    signs = [marks[number // len(OKABE_ITO) % len(marks)] for number in range(len(labels))]
    return alt.Scale(domain=list(labels), range=signs)


def _labels(section: Section) -> list[str]:
    return [row.label for row in section.measured]


def _legend(alt: Any) -> Any:
    return alt.Legend(orient="bottom", columns=3, symbolLimit=0, title=None, labelLimit=220)


def tooltips(alt: Any, *names: str) -> list[Any]:
    """The values that appear when the pointer is on a mark."""
    return [alt.Tooltip("method:N"), *(alt.Tooltip(f"{name}:Q", format=",.4~g") for name in names)]


def _curve(record: RunRecord) -> Values:
    times = itertools.accumulate(
        (epoch.train_seconds + epoch.eval_seconds for epoch in record.curve), initial=record.prepare_seconds
    )
    next(times)
    return [
        {"epoch": epoch.number, "seconds": _seconds(seconds), "accuracy": _percent(epoch.val_accuracy)}
        for epoch, seconds in zip(record.curve, times, strict=True)
    ]


def _percent(share: float) -> float:
    return round(share * 100, 3)


def _seconds(value: float) -> float:
    return _short(max(value, _SHORTEST))


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _learning_curve(alt: Any, row: Row, field: str, title: str) -> Any:
    base = alt.Chart(alt.NamedData("learning"))
    axis = alt.Axis(tickMinStep=1, format="d")
    nodes = ["training", "validation"] if field == "loss" else ["validation"]
    colour = alt.Color(
        "nodes:N",
        title=None,
        scale=alt.Scale(domain=nodes, range=[_LEARNING_COLOURS[name] for name in nodes]),
        legend=alt.Legend(orient="bottom") if field == "loss" else None,
    )
    lines = (
        base.transform_filter(f"isValid(datum.{field})")
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("epoch:Q", title="epoch", axis=axis, scale=alt.Scale(zero=False, nice=False)),
            y=alt.Y(f"{field}:Q", title=title, scale=alt.Scale(zero=False)),
            color=colour,
            tooltip=["nodes:N", "epoch:Q", alt.Tooltip(f"{field}:Q", title=title, format=",.4~g")],
        )
    )
    best = (
        base.transform_aggregate(epochs="count()")
        .mark_rule(strokeDash=[4, 3], color=OKABE_ITO[6])
        .encode(x=alt.datum(row.records[0].best_epoch))
    )
    return alt.layer(best, lines)
