"""The report as one page that holds its charts, their data and the scripts that draw them, and fetches nothing."""

import json
import re
from collections.abc import Sequence
from html import escape
from importlib import resources

from mggcn.report import charts, tables
from mggcn.report.lines import Section, environments
from mggcn.report.tables import Table
from mggcn.summary import duration

_SAFE = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"
_EXPORTS = "window.vegaEmbed = vegaEmbed;"
_PARTS = (
    ("accuracy", "Accuracy"),
    ("by_time", "Convergence"),
    ("by_epoch", ""),
    ("time", "Time and accuracy"),
    ("memory", "Memory"),
)


def html(found: Sequence[Section]) -> str:
    """The page."""
    charts.require_altair()
    points = charts.most_points(found)
    data: dict[str, charts.Values] = {}
    drawn: dict[str, charts.Chart] = {}
    body = []
    for number, section in enumerate(found):
        own = charts.data(section, points)
        lines, curves = f"lines{number}", f"curves{number}"
        data |= {lines: own["lines"], curves: own["curves"]}
        made = charts.charts(section, lines, curves if own["curves"] else None)
        drawn |= {f"{name}{number}": chart for name, chart in made.items()}
        body.append(_section(section, number, set(made)))
    body.append(_origin(found))
    specs = {name: {"spec": chart.spec, "data": chart.data} for name, chart in drawn.items()}
    contents = "".join(f'<a href="#s{number}">{escape(one.title)}</a> ' for number, one in enumerate(found))
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
{"".join(body)}
<script type="application/json" id="data">{_json({"data": data, "charts": specs})}</script>
<script type="module">{_vega()}</script>
<script type="module">{_resource("page.js")}</script>
</body>
</html>
"""


def _section(section: Section, number: int, drawn: set[str]) -> str:
    parts = [
        f'<section id="s{number}"><h2>{escape(section.title)}</h2><p>{escape(section.about)}</p>',
        _table(tables.table(section)),
        f'<p class="note">{_emphasised(tables.notes([section]))}</p>',
    ]
    for name, heading in _PARTS:
        if heading:
            parts.append(f"<h3>{heading}</h3>")
        if name in drawn:
            parts.append(f'<div class="scroll"><div class="chart" id="{name}{number}"></div></div>')
            parts.append(_caption(section, name))
        elif heading:
            parts.append("<p>The records hold no curve: nothing was trained epoch by epoch.</p>")
    return "\n".join([*parts, "</section>\n"])


def _caption(section: Section, name: str) -> str:
    if name == "time":
        told = [
            f"{line.label} ({duration(line.figures.seconds_to_best)}, {line.figures.accuracy:.2%})"
            for line in charts.pareto(section.lines)
        ]
        return f'<p class="note">On the Pareto front: {escape(", ".join(told))}.</p>'
    without = [line.label for line in section.lines if not line.records[0].curve]
    if name == "by_epoch" and without:
        return f'<p class="note">Without a curve: {escape(", ".join(without))}.</p>'
    return ""


def _origin(found: Sequence[Section]) -> str:
    items = "".join(f"<li>{escape(tables.environment(one))}</li>" for one in environments(found))
    return (
        '<section id="origin"><h2>Commands and environments</h2>\n'
        "<p>Each command trains again the runs behind one line, with every setting written out.</p>\n"
        f"{_table(tables.provenance(found), code='command')}\n<h3>Environments</h3>\n<ol>{items}</ol></section>\n"
    )


def _table(content: Table, code: str = "") -> str:
    head = "".join(
        f'<th aria-sort="none"><button type="button">{escape(name)}</button></th>' for name in content.headings
    )
    rows = []
    for row, keys in zip(content.rows, content.keys, strict=True):
        cells = []
        for name, cell, key in zip(content.headings, row, keys, strict=True):
            kind = "" if isinstance(key, str) else ' class="number"'
            text = f"<code>{escape(cell)}</code>" if name == code else escape(cell)
            cells.append(f'<td{kind} data-key="{escape("" if key is None else str(key))}">{text}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    body = "\n".join(rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def _vega() -> str:
    import vl_convert

    version = ".".join(charts.require_altair().SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    bundle: str = vl_convert.javascript_bundle(_EXPORTS, vl_version=version)
    return bundle.replace("</script", "<\\/script")


def _emphasised(text: str) -> str:
    return re.sub(r"\*(.+?)\*", r"<em>\1</em>", escape(text))


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _resource(name: str) -> str:
    return (resources.files("mggcn.report") / name).read_text()
