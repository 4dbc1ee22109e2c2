"""The charts of a report as static pictures; text and lines take the colour of the surrounding text."""

import textwrap

import vl_convert

from generate import varied
from mggcn.experiments import _charts as charts
from mggcn.experiments._charts import Spec
from mggcn.experiments._sections import Section

_WIDTH, _LETTERS = 520, 80
_ROOM = {"left": 30, "top": 5, "right": 20, "bottom": 5}  # the reader's font may be wider than the one measured here
_INK = "currentColor"
_WORDS = {"labelColor": _INK, "titleColor": _INK}
_FAINT = {"gridColor": _INK, "gridOpacity": 0.15, "domainColor": _INK, "domainOpacity": 0.3, "tickColor": _INK}
_THEME = {
    "background": "transparent",
    "view": {"stroke": _INK, "strokeOpacity": 0.3},
    "title": {"color": _INK, "anchor": "start"},
    "axis": {**_WORDS, **_FAINT, "tickOpacity": 0.3},
    "legend": _WORDS,
    "font": "system-ui, sans-serif",
}


def figure(section: Section) -> str:
    """The main charts of a section; empty if nothing was run."""
    figures = [f"<figure>{svg(chart)}</figure>" for chart in _main(section)] if section.measured else []
    return f'<div class="charts">{"".join(figures)}</div>' if figures else ""


def _main(section: Section) -> list[Spec]:
    """The charts against a setting if one is varied; else accuracy, or time if the experiment measures it."""
    against = varied.charts(section)
    if against:
        return list(against.values())
    return [charts.charts(section, points=1)["time" if section.measures_time else "accuracy"]]


def svg(chart: Spec, width: int = _WIDTH) -> str:
    """A chart with its data as a picture."""
    spec = chart | {
        "title": textwrap.wrap(chart["title"], _LETTERS),
        "width": width,
        "padding": _ROOM,
        "config": _THEME,
    }
    picture: str = vl_convert.vegalite_to_svg(spec)
    return " ".join(picture.split())
