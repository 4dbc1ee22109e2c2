"""Charts against a setting: what becomes of a method when one of its numbers is varied and nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mggcn.records.lines import Line, Section
from mggcn.report.charts import (
    ACCURACY,
    HEIGHT,
    OKABE_ITO,
    Chart,
    Values,
    colours,
    drawn,
    percent,
    require_altair,
    shapes,
    told,
)

_DEPTHS = ("layers", "hops")
_MOST_MARKS = 12
_WORDS = {"picks": "picks of a node", "samples": "samples of a layer", "hops": "hops of neighbours"}


@dataclass(frozen=True)
class Series:
    """Lines of one method on one device that differ in a single setting, which is a number.

    Attributes:
        name: the method, and the device where there are several.
        setting: the one they differ in.
        lines: in the order of its values.
    """

    name: str
    setting: str
    lines: tuple[Line, ...]


def series(section: Section) -> list[Series]:
    """Those of a section; it may have lines beside them."""
    groups: dict[tuple[str, str], list[Line]] = {}
    for line in section.run:
        groups.setdefault((line.summary.method, line.summary.device), []).append(line)
    devices = {device for _, device in groups}
    found = []
    for (method, device), lines in groups.items():
        setting = _varied(lines)
        if setting:
            ordered = sorted(lines, key=lambda line: line.records[0].settings[setting])
            found.append(Series(f"{method} ({device})" if len(devices) > 1 else method, setting, tuple(ordered)))
    return found


def data(section: Section) -> Values:
    """A row for each line that is of a series."""
    return [
        {
            "method": one.name,
            "value": line.records[0].settings[one.setting],
            "accuracy": percent(figures.accuracy),
            "low": percent(figures.accuracy - (figures.accuracy_std or 0.0)),
            "high": percent(figures.accuracy + (figures.accuracy_std or 0.0)),
            "nodes": round(figures.nodes_per_batch, 1),
            "deep": one.setting in _DEPTHS,
        }
        for one in series(section)
        for line in one.lines
        for figures in [line.figures]
    ]


def charts(section: Section, source: str) -> dict[str, Chart]:
    """Accuracy against the setting where all lines are of one series; nodes a batch by depth where some differ in it.

    Args:
        section: what they are of.
        source: the name under which the page holds :func:`data`.
    """
    found = series(section)
    made = {}
    if len(found) == 1 and len(found[0].lines) == len(section.run):
        made["varied"] = _accuracy(require_altair(), section, found[0], source)
    deep = [one for one in found if one.setting in _DEPTHS and any(line.figures.nodes_per_batch for line in one.lines)]
    if deep:
        made["nodes"] = _nodes(require_altair(), section, deep, source)
    return {name: drawn(chart, source) for name, chart in made.items()}


def _varied(lines: Sequence[Line]) -> str | None:
    """The setting in which lines differ, where it is one, and a number that is another one for each of them."""
    settings = [line.records[0].settings for line in lines]
    names = dict.fromkeys(name for one in settings for name in one)
    missing = object()
    different = [name for name in names if len({repr(one.get(name, missing)) for one in settings}) > 1]
    if len(different) != 1:
        return None
    values = [one.get(different[0]) for one in settings]
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return different[0] if len(set(numbers)) == len(values) else None


def _accuracy(alt: Any, section: Section, one: Series, source: str) -> Any:
    words = _WORDS.get(one.setting, one.setting)
    base = alt.Chart(alt.NamedData(source)).encode(
        x=alt.X("value:Q", title=words, scale=_inset(alt), axis=_marks(alt, [one]))
    )
    spread = base.mark_area(color=OKABE_ITO[4], opacity=0.3).encode(
        y=alt.Y("low:Q", title=ACCURACY, scale=alt.Scale(zero=False)), y2="high:Q"
    )
    means = base.mark_line(color=OKABE_ITO[0], point=alt.OverlayMarkDef(filled=True, size=70, color=OKABE_ITO[0]))
    return alt.layer(
        spread,
        means.encode(y=alt.Y("accuracy:Q", title=ACCURACY), tooltip=told(alt, "value", "accuracy", "low", "high")),
    ).properties(
        title=f"{section.dataset}: accuracy of {one.name} against {words}, mean ± standard deviation",
        width="container",
        height=HEIGHT,
    )


def _nodes(alt: Any, section: Section, found: Sequence[Series], source: str) -> Any:
    labels = [one.name for one in found]
    return (
        alt.Chart(alt.NamedData(source))
        .transform_filter("datum.deep && datum.nodes > 0")
        .mark_line(point=alt.OverlayMarkDef(filled=True, size=70))
        .encode(
            x=alt.X("value:Q", title="layers", scale=_inset(alt), axis=_marks(alt, found)),
            y=alt.Y("nodes:Q", title="nodes a batch", scale=alt.Scale(type="log")),
            color=colours(alt, labels),
            shape=shapes(alt, labels),
            tooltip=told(alt, "value", "nodes"),
        )
        .properties(
            title=f"{section.dataset}: nodes a training batch reads, by depth", width="container", height=HEIGHT
        )
    )


def _marks(alt: Any, found: Sequence[Series]) -> Any:
    """An axis with a mark at each value where they are few."""
    values = sorted({line.records[0].settings[one.setting] for one in found for line in one.lines})
    return alt.Axis(values=values, format=".6~g") if len(values) <= _MOST_MARKS else alt.Axis()


def _inset(alt: Any) -> Any:
    return alt.Scale(zero=False, nice=False, padding=16)
