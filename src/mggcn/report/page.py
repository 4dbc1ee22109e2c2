"""The report as one page that holds its charts, their data and the scripts that draw them, and fetches nothing."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from html import escape
from importlib import resources

from mggcn.errors import InputError
from mggcn.records.lines import Section, environments
from mggcn.records.sheet import GROWTH
from mggcn.records.summary import Key, duration, remarks
from mggcn.report import charts, classes, tables, varied
from mggcn.report.tables import Table

MOST_BYTES = 2_000_000
"""The largest page there may be."""
_FEWEST_POINTS = 2
_SCRIPTS = ("shared.js", "page.js")
_SAFE = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"
_EXPORTS = "window.vegaEmbed = vegaEmbed;"
_PARTS = (
    ("accuracy", "Accuracy"),
    ("varied", ""),
    ("by_time", "Convergence"),
    ("by_epoch", ""),
    ("time", "Time and accuracy"),
    ("memory", "Memory"),
    ("nodes", ""),
)
_COMPARISONS = ("accuracy", "time", "memory")
"""Charts with one mark for each line, which say nothing where there is one line."""


@dataclass(frozen=True)
class Part:
    """Something that a page shows after its sections.

    Attributes:
        title: its heading.
        body: ready HTML, which must fetch nothing.
    """

    title: str
    body: str


@dataclass(frozen=True)
class _Drawn:
    """What the sections of a page hold: their HTML, their charts, the data of these, and what gives their curves."""

    body: str
    made: dict[str, charts.Chart]
    data: dict[str, charts.Values]
    curves: dict[str, Callable[[int], charts.Values]]


def html(found: Sequence[Section], parts: Sequence[Part] = ()) -> str:
    """The page.

    Args:
        found: its sections.
        parts: what it shows after them.
    """
    charts.require_altair()
    drawn = _drawn(found)
    points, bundle = charts.most_points(found), vega()
    while True:
        page = _page(found, parts, drawn, points, bundle)
        if len(page.encode()) < MOST_BYTES:
            return page
        if points <= _FEWEST_POINTS or not drawn.curves:
            lines = sum(len(section.lines) for section in found)
            raise InputError(
                f"report: a page of {lines:,} lines has {len(page.encode()) / 1e6:.1f} MB, more than "
                f"{MOST_BYTES / 1e6:g}; name fewer runs, or take --format md"
            )
        points = max(_FEWEST_POINTS, points // 2)


@cache
def vega() -> str:
    """The charting library's script, which sets ``window.vegaEmbed``; the first call takes seconds."""
    import vl_convert

    version = ".".join(charts.require_altair().SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    bundle: str = vl_convert.javascript_bundle(_EXPORTS, vl_version=version)
    return bundle.replace("</script", "<\\/script")


def _drawn(found: Sequence[Section]) -> _Drawn:
    body: list[str] = []
    made: dict[str, charts.Chart] = {}
    data: dict[str, charts.Values] = {}
    curves: dict[str, Callable[[int], charts.Values]] = {}
    for number, section in enumerate(found):
        own: dict[str, charts.Chart] = {}
        if section.run:
            lines, epochs, values = f"lines{number}", f"curves{number}", f"varied{number}"
            trained = any(charts.has_curve(line) for line in section.run)
            own = charts.charts(section, lines, epochs if trained else None) | varied.charts(section, values)
            if _is_comparison(section):
                data[lines] = charts.lines_data(section)
            else:
                own = {name: chart for name, chart in own.items() if name not in _COMPARISONS}
            if trained:
                curves[epochs] = partial(charts.curves_data, section)
            if values in {chart.data for chart in own.values()}:
                data[values] = varied.data(section)
            shown, cells = classes.best(section.run), f"confusion{number}"
            if shown and classes.data(shown):
                data[cells] = classes.data(shown)
                own["confusion"] = classes.chart(section.dataset, shown, cells)
        made |= {f"{name}{number}": chart for name, chart in own.items()}
        body.append(_section(section, number, set(own)))
    return _Drawn("".join(body), made, data, curves)


def _page(found: Sequence[Section], parts: Sequence[Part], drawn: _Drawn, points: int, bundle: str) -> str:
    data = drawn.data | {name: thinned(points) for name, thinned in drawn.curves.items()}
    specs = {name: {"spec": chart.spec, "data": chart.data} for name, chart in drawn.made.items()}
    contents = "".join(f'<a href="#s{number}">{escape(one.short)}</a> ' for number, one in enumerate(found))
    contents += "".join(f'<a href="#p{number}">{escape(one.title)}</a> ' for number, one in enumerate(parts))
    extra = "".join(
        f'<section id="p{number}"><h2>{escape(one.title)}</h2>\n{one.body}</section>\n'
        for number, one in enumerate(parts)
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_SAFE}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>mggcn: results</title>
<style>{_resource("page.css")}</style>
</head>
<body>
<h1>Results</h1>
<nav>{contents}<a href="#origin">Commands and environments</a></nav>
<p class="note">A click on a heading sorts its table; a click on a name in a legend shows that curve alone.</p>
{drawn.body}{extra}{_origin(found)}
<script type="application/json" id="data">{_json({"data": data, "charts": specs})}</script>
<script type="module">{bundle}</script>
<script type="module">{"".join(map(_resource, _SCRIPTS))}</script>
</body>
</html>
"""


def _section(section: Section, number: int, drawn: set[str]) -> str:
    parts = [
        f'<section id="s{number}"><h2>{escape(section.title)}</h2><p>{escape(section.about)}</p>',
        _table(tables.table(section)),
        *(f'<p class="note">{escape(remark)}</p>' for remark in remarks(section.summaries)),
    ]
    if not section.run:
        return "\n".join([*parts, "</section>\n"])
    parts.append(f'<p class="note">{_emphasised(tables.notes([section]))}</p>')
    for name, heading in _PARTS:
        if name in _COMPARISONS and not _is_comparison(section):
            continue
        if heading:
            parts.append(f"<h3>{heading}</h3>")
        if name in drawn:
            parts += [_place(name, number), _caption(section, name)]
        elif heading:
            parts.append("<p>The records hold no curve: nothing was trained for two epochs or more.</p>")
    return "\n".join([*parts, *_classes(section, number, drawn), "</section>\n"])


def _is_comparison(section: Section) -> bool:
    return len(section.run) > 1


def _place(name: str, number: int) -> str:
    return f'<div class="scroll"><div class="chart" id="{name}{number}"></div></div>'


def _classes(section: Section, number: int, drawn: set[str]) -> list[str]:
    """The classes as the best line tells them apart, and F1 by method where there are several."""
    shown = classes.best(section.run)
    if shown is None:
        return []
    whose = f", the most accurate of {len(section.run)} lines" if _is_comparison(section) else ""
    seeds = f", over {len(shown.records)} seeds" if len(shown.records) > 1 else ""
    parts = [
        "<h3>Classes</h3>",
        f"<p>Test nodes of each class, told apart by {escape(shown.label)}{whose}{seeds}.</p>",
        _table(classes.table(shown)),
    ]
    if "confusion" in drawn:
        parts.append(_place("confusion", number))
    if _is_comparison(section):
        told = "<summary>F1 of each class by method, in %</summary>"
        parts.append(f"<details>{told}{_table(classes.f1_table(section.run))}</details>")
    return parts


def _caption(section: Section, name: str) -> str:
    if name == "time":
        told = [
            f"{line.label} ({duration(line.figures.seconds_to_best)}, {line.figures.accuracy:.2%})"
            for line in charts.pareto(section.run)
        ]
        return f'<p class="note">On the Pareto front: {escape(", ".join(told))}.</p>'
    without = [line.label for line in section.run if not charts.has_curve(line)]
    if name == "by_epoch" and without:
        return f'<p class="note">Without a curve: {escape(", ".join(without))}.</p>'
    return ""


def _origin(found: Sequence[Section]) -> str:
    items = "".join(f"<li>{escape(tables.environment(one))}</li>" for one in environments(found))
    return (
        '<section id="origin"><h2>Commands and environments</h2>\n'
        f"<p>{escape(tables.NOTE_ON_COMMANDS)}</p>\n"
        f"{_table(tables.provenance(found), code='command')}\n<h3>Environments</h3>\n<ol>{items}</ol></section>\n"
    )


def _table(content: Table, code: str = "") -> str:
    columns = zip(*content.keys, strict=True) if content.keys else [()] * len(content.headings)
    kinds = [' class="number"' * any(isinstance(key, int | float) for key in column) for column in columns]
    head = "".join(
        f'<th{kind} aria-sort="none"><button type="button">{escape(name)}</button></th>'
        for name, kind in zip(content.headings, kinds, strict=True)
    )
    rows = []
    for row, keys in zip(content.rows, content.keys, strict=True):
        cells = []
        for name, cell, key in zip(content.headings, row, keys, strict=True):
            kind = _kind(cell, key)
            text = f"<code>{escape(cell)}</code>" if name == code else _raised(cell)
            cells.append(f'<td{kind} data-key="{escape("" if key is None else str(key))}">{text}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    body = "\n".join(rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def _kind(cell: str, key: Key) -> str:
    """How a cell is set: numbers to the right, words in place of one broken into lines."""
    if isinstance(key, str):
        return ""
    return ' class="words"' if key is None and len(cell) > 1 else ' class="number"'


def _raised(cell: str) -> str:
    """A cell as HTML; an order of growth has its exponents raised."""
    text = escape(cell)
    return re.sub(r"\^(\w+)", r"<sup>\1</sup>", text) if GROWTH.fullmatch(cell) else text


def _emphasised(text: str) -> str:
    return re.sub(r"\*(.+?)\*", r"<em>\1</em>", escape(text))


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _resource(name: str) -> str:
    return (resources.files("mggcn.report") / name).read_text()
