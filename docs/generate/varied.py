"""Charts against a setting: the results of a method when one number is varied and nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mggcn.experiments._charts import (
    ACCURACY,
    OKABE_ITO,
    Spec,
    Values,
    as_spec,
    colours,
    require_altair,
    shapes,
    sized,
    spread,
    tooltips,
)
from mggcn.experiments._sections import Row, Section

_DEPTHS = ("layers", "hops")
_MOST_MARKS = 12
_WORDS = {"picks": "picks of a node", "samples": "samples of a layer", "hops": "hops of neighbours"}


@dataclass(frozen=True)
class Series:
    """Rows of one method on one device that differ in a single setting, in the order of its values, which are numbers.

    The name is that of the method, with the device if there are several.
    """

    name: str
    setting: str
    rows: tuple[Row, ...]


def series(section: Section) -> list[Series]:
    """The series of a section, which may also have other rows."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in section.measured:
        groups.setdefault((row.method, row.device), []).append(row)
    devices = {device for _, device in groups}
    several = []
    for (method, device), rows in groups.items():
        setting = _varied(rows)
        if setting:
            ordered = sorted(rows, key=lambda row: row.settings[setting])
            several.append(Series(f"{method} ({device})" if len(devices) > 1 else method, setting, tuple(ordered)))
    return several


def data(section: Section) -> Values:
    """The values of each row that is part of a series."""
    return [
        {
            "method": each.name,
            "value": row.settings[each.setting],
            **spread(row.figures),
            "nodes": round(row.figures.nodes_per_batch, 1),
            "deep": each.setting in _DEPTHS,
        }
        for each in series(section)
        for row in each.rows
    ]


def charts(section: Section) -> dict[str, Spec]:
    """Accuracy against the setting if all rows are one series; nodes a batch by depth if some rows differ in depth."""
    several = series(section)
    drawn = {}
    if len(several) == 1 and len(several[0].rows) == len(section.measured):
        drawn["varied"] = _accuracy(require_altair(), section, several[0])
    deep = [
        each for each in several if each.setting in _DEPTHS and any(row.figures.nodes_per_batch for row in each.rows)
    ]
    if deep:
        drawn["nodes"] = _nodes(require_altair(), section, deep)
    return {name: as_spec(chart) for name, chart in drawn.items()}


def _varied(rows: Sequence[Row]) -> str | None:
    """The setting in which rows differ, if it is only one, and a different number in each of them."""
    settings = [row.settings for row in rows]
    names = dict.fromkeys(name for values in settings for name in values)
    missing = object()
    different = [name for name in names if len({repr(values.get(name, missing)) for values in settings}) > 1]
    if len(different) != 1:
        return None
    values = [each.get(different[0]) for each in settings]
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return different[0] if len(set(numbers)) == len(values) else None


def _accuracy(alt: Any, section: Section, line: Series) -> Any:
    words = _WORDS.get(line.setting, line.setting)
    base = alt.Chart(alt.InlineData(values=data(section))).encode(
        x=alt.X("value:Q", title=words, scale=_inset(alt), axis=_marks(alt, [line]))
    )
    area = base.mark_area(color=OKABE_ITO[4], opacity=0.3).encode(
        y=alt.Y("low:Q", title=ACCURACY, scale=alt.Scale(zero=False)), y2="high:Q"
    )
    means = base.mark_line(color=OKABE_ITO[0], point=alt.OverlayMarkDef(filled=True, size=70, color=OKABE_ITO[0]))
    shown = tooltips(alt, "value", "accuracy", "low", "high")
    title = f"{section.dataset}: accuracy of {line.name} against {words}, mean ± standard deviation"
    return sized(alt.layer(area, means.encode(y=alt.Y("accuracy:Q", title=ACCURACY), tooltip=shown)), title)


def _nodes(alt: Any, section: Section, several: Sequence[Series]) -> Any:
    labels = [each.name for each in several]
    chart = (
        alt.Chart(alt.InlineData(values=data(section)))
        .transform_filter("datum.deep && datum.nodes > 0")
        .mark_line(point=alt.OverlayMarkDef(filled=True, size=70))
        .encode(
            x=alt.X("value:Q", title="layers", scale=_inset(alt), axis=_marks(alt, several)),
            y=alt.Y("nodes:Q", title="nodes a batch", scale=alt.Scale(type="log")),
            color=colours(alt, labels),
            shape=shapes(alt, labels),
            tooltip=tooltips(alt, "value", "nodes"),
        )
    )
    return sized(chart, f"{section.dataset}: nodes a training batch reads, by depth")


def _marks(alt: Any, several: Sequence[Series]) -> Any:
    """An axis with a mark at each value if they are few."""
    values = sorted({row.settings[each.setting] for each in several for row in each.rows})
    return alt.Axis(values=values, format=".6~g") if len(values) <= _MOST_MARKS else alt.Axis()


def _inset(alt: Any) -> Any:
    return alt.Scale(zero=False, nice=False, padding=16)
