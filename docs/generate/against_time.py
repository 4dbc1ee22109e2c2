"""Accuracy against training time, a mark for each method with its name beside it, as a static picture."""

import math
import re
from collections.abc import Sequence
from itertools import pairwise

from generate.charts import svg
from generate.committed import about, packed, sections
from generate.labels import Box, placed
from mggcn.experiments._charts import ACCURACY, OKABE_ITO, Spec, Values, as_spec, require_altair, rows_data
from mggcn.experiments._report_tables import duration, percent
from mggcn.experiments._sections import Section

_WIDTH, _HEIGHT = 660, 480
_INSET = 0.04
_OWN, _OTHER = "mix-grained methods", "other methods"
_FIRST_PAGE = "pubmed"


def first_page() -> str:
    """The chart of all methods on the largest data set of the comparison, with a caption."""
    compared = [section for path in packed() if about(path) == "compare" for section in sections(path)]
    section = next((one for one in compared if one.dataset == _FIRST_PAGE and one.measured), None)
    if section is None:
        return "The methods have not been compared yet."
    seeds = max(row.done for row in section.measured)
    return (
        f"{figure(section)}\n\n{len(section.measured)} methods on {_FIRST_PAGE.capitalize()}: test accuracy (mean and "
        f"standard deviation over {seeds} seeds) against the median time from the start to the best epoch. No method "
        "is both faster and more accurate than those on the dashed line. [Methods compared](compare.md) has all data "
        "sets and all figures."
    )


def figure(section: Section) -> str:
    """The chart of the rows of any section that have records; the section must have one."""
    values = rows_data(section)
    scales = _Scales(values)
    picture = svg(_chart(section, scales, _labelled(section, values, scales)), _WIDTH)
    return f'<div class="charts"><figure>{_with_hints(picture)}</figure></div>'


class _Scales:
    """The domains of the axes, that of time as logarithms, and the pixels that belong to values."""

    def __init__(self, values: Values) -> None:
        self.x = _inset([math.log10(value["seconds"]) for value in values])
        self.y = _inset([value[name] for value in values for name in ("low", "high")])

    def pixels(self, seconds: float, accuracy: float) -> tuple[float, float]:
        """The position of a time in seconds and an accuracy in percent."""
        (left, right), (low, high) = self.x, self.y
        across = (math.log10(seconds) - left) / (right - left)
        return _WIDTH * across, _HEIGHT * (high - accuracy) / (high - low)

    def values(self, x: float, y: float) -> tuple[float, float]:
        """The time and the accuracy of a position."""
        (left, right), (low, high) = self.x, self.y
        return float(10 ** (left + x / _WIDTH * (right - left))), high - y / _HEIGHT * (high - low)


def _labelled(section: Section, values: Values, scales: _Scales) -> Values:
    """The values of the rows with the position of each label."""
    points = [(*scales.pixels(value["seconds"], value["accuracy"]), value["method"]) for value in values]
    labels = placed(points, _lines(values, scales), (_WIDTH, _HEIGHT))
    return [
        {
            **value,
            "kind": _OWN if row.method.startswith("mg-") else _OTHER,
            "hint": f"{row.label}: {percent(row.figures.accuracy, row.figures.accuracy_std)} %, "
            f"{duration(row.figures.seconds_to_best)}",
            **dict(zip(("label_x", "label_y"), scales.values(label.x, label.y), strict=True)),
            "align": label.align,
            "far": label.is_far,
        }
        for value, row, label in zip(values, section.measured, labels, strict=True)
    ]


def _lines(values: Values, scales: _Scales) -> list[Box]:
    """The areas of the Pareto front and of the standard deviations."""
    front = sorted(scales.pixels(value["seconds"], value["accuracy"]) for value in values if value["front"])
    boxes = []
    for (x, y), (next_x, next_y) in pairwise(front):
        boxes += [(x, y - 1, next_x, y + 1), (next_x - 1, next_y, next_x + 1, y)]
    for value in values:
        (x, top), (_, bottom) = (scales.pixels(value["seconds"], value[name]) for name in ("high", "low"))
        boxes.append((x - 1, top, x + 1, bottom))
    return boxes


def _chart(section: Section, scales: _Scales, values: Values) -> Spec:
    alt = require_altair()
    x_scale = alt.Scale(type="log", nice=False, domain=[10**bound for bound in scales.x])
    y_scale = alt.Scale(nice=False, domain=scales.y)
    x = alt.X("seconds:Q", title="time to the best epoch, s", scale=x_scale, axis=alt.Axis(grid=False))
    y = alt.Y("accuracy:Q", title=ACCURACY, scale=y_scale)
    base = alt.Chart(alt.InlineData(values=values))
    at_mark = base.encode(x=x, y=y)
    front = (
        at_mark.transform_filter("datum.front")
        .mark_line(interpolate="step-after", color=OKABE_ITO[6], strokeDash=[4, 3], aria=False)
        .encode(order=alt.Order("seconds:Q"))
    )
    colour = alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=[_OWN, _OTHER], range=[OKABE_ITO[3], OKABE_ITO[4]]),
        legend=alt.Legend(orient="top", labelLimit=0, columnPadding=50, symbolOpacity=1),
    )
    deviations = base.mark_rule(opacity=0.5, aria=False).encode(
        x=x, y=alt.Y("low:Q", scale=y_scale), y2="high:Q", color=colour
    )
    leaders = (
        at_mark.transform_filter("datum.far")
        .mark_rule(color="currentColor", opacity=0.7, strokeWidth=0.7, aria=False)
        .encode(x2="label_x:Q", y2="label_y:Q")
    )
    marks = at_mark.mark_point(filled=True, size=80, opacity=1).encode(color=colour, description="hint:N")
    names = base.mark_text(fontSize=11, baseline="middle", color="currentColor", align=alt.ExprRef("datum.align"))
    names = names.encode(
        x=alt.X("label_x:Q", scale=x_scale), y=alt.Y("label_y:Q", scale=y_scale), text=alt.Text("method:N")
    )
    layers = alt.layer(front, deviations, leaders, marks, names)
    return as_spec(layers.properties(title=f"{section.dataset}: accuracy against training time", height=_HEIGHT))


def _inset(values: Sequence[float]) -> tuple[float, float]:
    """The least and the greatest value, with some space around them."""
    space = (max(values) - min(values) or 1.0) * _INSET
    return min(values) - space, max(values) + space


def _with_hints(picture: str) -> str:
    """A picture whose marks say what they are when the pointer is on them."""
    mark = re.compile(r'(<path aria-label="([^"]*)" role="graphics-symbol" aria-roledescription="point"[^>]*?)/>')
    return mark.sub(lambda match: f"{match[1]}><title>{match[2]}</title></path>", picture)
