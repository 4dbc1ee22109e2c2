"""The charts of a report as still pictures, whose words and lines take the colour of the text around them."""

import textwrap

import vl_convert

from mggcn.records.lines import Section
from mggcn.report import charts, varied
from mggcn.report.charts import Chart

_WIDTH, _LETTERS = 520, 80
_ROOM = {"left": 30, "top": 5, "right": 20, "bottom": 5}  # a reader's letters may be wider than those measured here
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
    """What a section is about, as pictures; empty where nothing was run."""
    drawn = "".join(f"<figure>{_svg(section, chart)}</figure>" for chart in _chosen(section)) if section.run else ""
    return f'<div class="charts">{drawn}</div>' if drawn else ""


def _chosen(section: Section) -> list[Chart]:
    """The charts against a setting where one is varied; else accuracy, or time where the experiment is about that."""
    against = varied.charts(section, "varied")
    if against:
        return list(against.values())
    about_time = section.sheet is not None and section.sheet.measure != "accuracy"
    return [charts.charts(section, "lines", None)["time" if about_time else "accuracy"]]


def _svg(section: Section, chart: Chart) -> str:
    values = varied.data(section) if chart.data == "varied" else charts.lines_data(section)
    spec = chart.spec | {
        "title": textwrap.wrap(chart.spec["title"], _LETTERS),
        "width": _WIDTH,
        "padding": _ROOM,
        "datasets": {chart.data: values},
        "config": _THEME,
    }
    drawn: str = vl_convert.vegalite_to_svg(spec)
    return " ".join(drawn.split())
