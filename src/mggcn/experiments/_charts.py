"""Charts of a section or of one run as Vega-Lite specifications that contain their data."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

from mggcn.errors import InputError
from mggcn.experiments._sections import Figures, Row, Section
from mggcn.training import spaced

OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#999999")
"""Colours that most people can distinguish; without yellow and black, which are hard to see on light or dark pages."""
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
SHAPES = ("circle", "square", "triangle-up", "diamond")
_MOST_POINTS = 5_000
SHORTEST = 1e-6
"""The shortest time in seconds of charts; a logarithmic scale cannot show 0."""
ACCURACY, ROW_HEIGHT, _HEIGHT = "test accuracy, %", 20, 340

Values = list[dict[str, Any]]
Spec = dict[str, Any]
"""A chart in Vega-Lite; its data are in ``datasets``."""


def most_points(sections: Sequence[Section]) -> int:
    """How many points a curve may have so that the page stays fast."""
    return max(10, min(150, _MOST_POINTS // max(1, sum(len(section.measured) for section in sections))))


def rows_data(section: Section) -> Values:
    """The values of each row that was run; the memory is that in training if all rows have it."""
    front, figures = pareto(section.measured), [row.figures for row in section.measured]
    has_training = _has_training_memory(section)
    memory = [(one.training_memory_bytes or 0) if has_training else one.peak_memory_bytes for one in figures]
    return [
        {
            "method": row.label,
            **spread(row.figures),
            "seconds": visible_seconds(row.figures.seconds_to_best),
            "memory": _short(bytes_used / 2**20),
            "front": row in front,
        }
        for row, bytes_used in zip(section.measured, memory, strict=True)
    ]


def spread(figures: Figures) -> dict[str, float]:
    """Mean accuracy, and the mean minus and plus the standard deviation, in percent."""
    mean, deviation = figures.accuracy, figures.accuracy_std or 0.0
    return {"accuracy": percentage(mean), "low": percentage(mean - deviation), "high": percentage(mean + deviation)}


def has_curve(row: Row) -> bool:
    """Whether the first run of a row has the two epochs that a curve needs."""
    return len(row.records[0].curve) > 1


def pareto(rows: Sequence[Row]) -> list[Row]:
    """The rows that no other row beats in both time to best and accuracy, the fastest first."""
    front: list[Row] = []
    for row in sorted(rows, key=lambda row: (row.figures.seconds_to_best, -row.figures.accuracy)):
        if not front or row.figures.accuracy > front[-1].figures.accuracy:
            front.append(row)
    return front


def charts(section: Section, points: int) -> dict[str, Spec]:
    """The charts of several rows by name; those of curves, of at most ``points`` points, only if a row has one."""
    alt = require_altair()
    rows = alt.Chart(alt.InlineData(values=rows_data(section)))
    drawn = {
        "accuracy": _accuracy(alt, section, rows),
        "time": _time(alt, section, rows),
        "memory": _memory(alt, section, rows),
    }
    return {name: as_spec(chart) for name, chart in drawn.items()} | curves(section, points)


def curves(section: Section, points: int) -> dict[str, Spec]:
    """Validation accuracy by epoch, of at most ``points`` points; nothing if no row has a curve."""
    alt, values = require_altair(), _curves_data(section, points)
    if not values:
        return {}
    selected = legend_selection(alt)
    lines = alt.Chart(alt.InlineData(values=values)).mark_line(strokeWidth=1.5, clip=True)
    chart = lines.encode(
        x=_epochs(alt),
        y=alt.Y("accuracy:Q", title="validation accuracy, %", scale=alt.Scale(zero=False)),
        color=colours(alt, labels_of(section)),
        strokeDash=second_marks(alt, labels_of(section)),
        opacity=alt.condition(selected, alt.value(1), alt.value(0.08)),
        tooltip=tooltips(alt, "accuracy", "epoch", "seconds"),
    )
    title = f"{section.dataset}: validation accuracy against epochs, the first seed of each method"
    return {"by_epoch": as_spec(sized(chart.add_params(selected), title))}


def loss(row: Row, points: int) -> Spec:
    """Training and validation loss by epoch of the first seed, which has a curve; at most ``points`` epochs."""
    alt, record, colours = require_altair(), row.records[0], {"training": OKABE_ITO[1], "validation": OKABE_ITO[0]}
    epochs = [record.curve[number] for number in spaced(len(record.curve), points)]
    values = [
        {"epoch": epoch.number, "nodes": nodes, "loss": float(f"{loss:.5g}") if math.isfinite(loss) else None}
        for epoch in epochs
        for nodes, loss in (("training", epoch.train_loss), ("validation", epoch.val_loss))
    ]
    base = alt.Chart(alt.InlineData(values=values))
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    lines = (
        base.transform_filter("isValid(datum.loss)")
        .mark_line(strokeWidth=2)
        .encode(
            x=_epochs(alt),
            y=alt.Y("loss:Q", title="loss", scale=alt.Scale(zero=False)),
            color=alt.Color("nodes:N", title=None, scale=scale, legend=alt.Legend(orient="bottom")),
            tooltip=["nodes:N", "epoch:Q", alt.Tooltip("loss:Q", format=",.4~g")],
        )
    )
    best = (
        base.transform_aggregate(epochs="count()")
        .mark_rule(strokeDash=[4, 3], color=OKABE_ITO[6])
        .encode(x=alt.datum(record.best_epoch))
    )
    seed = f", seed {record.seed}" if row.done > 1 else ""
    title = f"Training and validation loss{seed}; the dashed line is the best epoch, {record.best_epoch}"
    return as_spec(sized(alt.layer(best, lines), title))


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


def sized(chart: Any, title: str, height: int = _HEIGHT) -> Any:
    """A chart with a title, as wide as the page."""
    return chart.properties(title=title, width="container", height=height)


def colours(alt: Any, labels: Sequence[str]) -> Any:
    """A colour for each label."""
    scale = alt.Scale(domain=list(labels), range=list(OKABE_ITO))  # which repeats
    return alt.Color("method:N", scale=scale, legend=_legend(alt))


def shapes(alt: Any, labels: Sequence[str]) -> Any:
    """A shape for each label, beside its colour."""
    return alt.Shape("method:N", scale=_scale(alt, labels, SHAPES), legend=_legend(alt))


def second_marks(alt: Any, labels: Sequence[str]) -> Any:
    """Dashes for each label, beside its colour."""
    return alt.StrokeDash("method:N", scale=_scale(alt, labels, _DASHES), legend=_legend(alt))


def legend_selection(alt: Any) -> Any:
    """A click on a label in the legend selects its lines."""
    return alt.selection_point(name="selected", fields=["method"], bind="legend")


def labels_of(section: Section) -> list[str]:
    """The labels of the rows that were run."""
    return [row.label for row in section.measured]


def log_scale(alt: Any) -> Any:
    """A logarithmic scale with some room at its ends."""
    return alt.Scale(type="log", nice=False, padding=12)


def percentage(share: float) -> float:
    """A share in percent, as charts hold it."""
    return round(share * 100, 3)


def visible_seconds(value: float) -> float:
    """A time that a logarithmic scale can show."""
    return _short(max(value, SHORTEST))


def tooltips(alt: Any, *names: str) -> list[Any]:
    """The values that appear when the pointer is on a mark."""
    return [alt.Tooltip("method:N"), *(alt.Tooltip(f"{name}:Q", format=",.4~g") for name in names)]


def _accuracy(alt: Any, section: Section, rows: Any) -> Any:
    base = rows.encode(y=methods_axis(alt))
    rules = base.mark_rule(strokeWidth=2, color=OKABE_ITO[4]).encode(
        x=alt.X("low:Q", title=ACCURACY, scale=alt.Scale(zero=False)), x2="high:Q"
    )
    means = base.mark_point(filled=True, size=70, color=OKABE_ITO[0], opacity=1).encode(
        x=alt.X("accuracy:Q", title=ACCURACY), tooltip=tooltips(alt, "accuracy", "low", "high")
    )
    title = f"{section.dataset}: test accuracy, mean ± standard deviation over seeds"
    return sized(alt.layer(rules, means), title, ROW_HEIGHT * len(section.measured))


def _time(alt: Any, section: Section, rows: Any) -> Any:
    base = rows.encode(
        x=alt.X("seconds:Q", title="time to the best epoch, s", scale=log_scale(alt)),
        y=alt.Y("accuracy:Q", title=ACCURACY, scale=alt.Scale(zero=False)),
    )
    front = (
        base.transform_filter("datum.front")
        .mark_line(interpolate="step-after", color=OKABE_ITO[6], strokeDash=[4, 3])
        .encode(order=alt.Order("seconds:Q"))
    )
    marks = base.mark_point(filled=True, size=90, opacity=1).encode(
        color=colours(alt, labels_of(section)),
        shape=shapes(alt, labels_of(section)),
        tooltip=tooltips(alt, "accuracy", "seconds", "memory"),
    )
    title = f"{section.dataset}: accuracy against time; the dashed line is the Pareto front"
    return sized(alt.layer(front, marks), title)


def _memory(alt: Any, section: Section, rows: Any) -> Any:
    x = alt.X("memory:Q", title="peak memory, MiB")
    bars = rows.mark_bar(color=OKABE_ITO[0]).encode(x=x, y=methods_axis(alt), tooltip=tooltips(alt, "memory"))
    phase = " in training" if _has_training_memory(section) else ""
    title = f"{section.dataset}: peak memory{phase}, the largest over seeds"
    return sized(bars, title, ROW_HEIGHT * len(section.measured))


def _has_training_memory(section: Section) -> bool:
    return all(row.figures.training_memory_bytes is not None for row in section.measured)


def _curves_data(section: Section, points: int) -> Values:
    """The epochs of the first seed of each row, at most ``points`` of them."""
    values = []
    for row in filter(has_curve, section.measured):
        record = row.records[0]
        seconds = list(
            itertools.accumulate(
                (epoch.train_seconds + epoch.eval_seconds for epoch in record.curve), initial=record.prepare_seconds
            )
        )
        for number in spaced(len(record.curve), points):
            epoch = record.curve[number]
            accuracy, reached = percentage(epoch.val_accuracy), visible_seconds(seconds[number + 1])
            values.append({"method": row.label, "epoch": epoch.number, "seconds": reached, "accuracy": accuracy})
    return values


def _epochs(alt: Any) -> Any:
    axis, scale = alt.Axis(tickMinStep=1, format="d"), alt.Scale(zero=False, nice=False)
    return alt.X("epoch:Q", title="epoch", axis=axis, scale=scale)


def methods_axis(alt: Any) -> Any:
    """A line for each label, in the order of the data."""
    return alt.Y("method:N", title=None, sort=None, axis=alt.Axis(labelLimit=220))


def _scale(alt: Any, labels: Sequence[str], marks: Sequence[Any]) -> Any:
    """A second mark beside the colour, which changes when the colours repeat."""
    signs = [marks[number // len(OKABE_ITO) % len(marks)] for number in range(len(labels))]
    return alt.Scale(domain=list(labels), range=signs)


def _legend(alt: Any) -> Any:
    return alt.Legend(orient="bottom", columns=3, symbolLimit=0, title=None, labelLimit=220)


def _short(value: float) -> float:
    return float(f"{value:.4g}")
