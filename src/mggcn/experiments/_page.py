"""Reports of records; as one self-contained page: charts, their data and the scripts that draw them."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import Literal

from mggcn.errors import InputError
from mggcn.experiments import _charts as charts
from mggcn.experiments import _classes as classes
from mggcn.experiments import _headline as headline
from mggcn.experiments import _ranking as ranking
from mggcn.experiments import _section_tables as tables
from mggcn.experiments._records import pack
from mggcn.experiments._rows import Section, environments
from mggcn.experiments._table import duration
from mggcn.experiments._vega import vega

Format = Literal["html", "md", "json"]

MOST_BYTES = 2_000_000
"""The largest size of a page."""
_FEWEST_POINTS = 2
_SCRIPTS = ("shared.js", "page.js")
_SAFE = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"
_PARTS = (
    ("accuracy", "Accuracy"),
    ("by_time", "Convergence"),
    ("by_epoch", ""),
    ("time", "Time and accuracy"),
    ("memory", "Memory"),
)
_NO_CURVE = "<p>The records hold no curve: nothing was trained for two epochs or more.</p>"
_HINT = '<p class="note">Click a heading to sort its table; click a name in a legend to show only that curve.</p>'


@dataclass(frozen=True)
class Part:
    """An additional part of a page, shown after its sections.

    Attributes:
        title: its heading.
        body: HTML that fetches nothing.
    """

    title: str
    body: str


def render(sections: Sequence[Section], form: Format, parts: Sequence[Part] = ()) -> str:
    """Put records into a document.

    Args:
        sections: at least one, as :func:`mggcn.experiments.read_records` or :func:`mggcn.experiments.group` returns.
        form: ``html`` is one self-contained page with charts; ``md`` has the tables; ``json`` is the packed records,
            which :func:`mggcn.experiments.read_records` reads again.
        parts: what a page shows after its sections.
    """
    if form == "html":
        return html(sections, parts)
    return tables.document(sections) if form == "md" else pack(sections)


def html(sections: Sequence[Section], parts: Sequence[Part] = ()) -> str:
    """The page: at least one section, then the other parts."""
    charts.require_altair()
    drawn = [_charts(section) if section.measured else {} for section in sections]
    points, bundle = charts.most_points(sections), vega()
    while True:
        page = _page(sections, parts, drawn, points, bundle)
        if len(page.encode()) < MOST_BYTES:
            return page
        if points <= _FEWEST_POINTS or not any({"by_time", "loss"} & set(specs) for specs in drawn):
            rows = sum(len(section.rows) for section in sections)
            raise InputError(
                f"report: a page of {rows:,} rows has {len(page.encode()) / 1e6:.1f} MB, more than "
                f"{MOST_BYTES / 1e6:g}; name fewer runs, or write Markdown"
            )
        points = max(_FEWEST_POINTS, points // 2)


def _charts(section: Section) -> dict[str, charts.Spec]:
    several = _is_comparison(section)
    specs = charts.charts(section) if several else charts.learning_charts(section.measured[0])
    best = classes.best(section.measured)
    if best and classes.data(best):
        specs["confusion"] = classes.chart(section.dataset, best)
    if best and ranking.data(best):
        specs["ranking"] = ranking.chart(section.dataset, best)
    return specs


def _data(section: Section, source: str, points: int) -> charts.Values:
    """The data of charts by the name that their specifications use."""
    if source == "learning":
        return charts.learning_data(section.measured[0], points)
    if source == "curves":
        return charts.curves_data(section, points)
    if source in ("confusion", "ranking"):
        best = classes.best(section.measured)
        of_classes = classes.data if source == "confusion" else ranking.data
        return of_classes(best) if best else []
    return charts.rows_data(section)


def _page(
    sections: Sequence[Section],
    parts: Sequence[Part],
    drawn: Sequence[dict[str, charts.Spec]],
    points: int,
    bundle: str,
) -> str:
    specs, data = {}, {}
    for number, (section, of_section) in enumerate(zip(sections, drawn, strict=True)):
        for name, spec in of_section.items():
            source = f"{spec['data']['name']}{number}"
            specs[f"{name}{number}"] = spec | {"data": {"name": source}}
            if source not in data:
                data[source] = _data(section, spec["data"]["name"], points)
    names = _names(sections)
    body = "".join(
        _section(section, number, set(drawn[number]), name)
        for number, (section, name) in enumerate(zip(sections, names, strict=True))
    )
    title = escape(headline.title(sections))
    contents = "".join(f'<a href="#s{number}">{escape(name)}</a> ' for number, name in enumerate(names) if name)
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
<title>{title} · mggcn</title>
<style>{_resource("page.css")}</style>
</head>
<body>
<nav>{contents}<a href="#origin">Commands and environments</a></nav>
<h1>{title}</h1>
{_HINT if any(map(_is_comparison, sections)) else ""}
{body}{extra}{_origin(sections)}
<script type="application/json" id="data">{_json({"data": data, "charts": specs})}</script>
<script type="module">{bundle}</script>
<script type="module">{"".join(map(_resource, _SCRIPTS))}</script>
</body>
</html>
"""


def _names(sections: Sequence[Section]) -> list[str]:
    """The headings of sections, without what the title of the page says; empty if there is only one section."""
    if len(sections) == 1:
        return [""]
    same = len({section.experiment for section in sections}) == 1
    return [section.dataset if same else section.short for section in sections]


def _section(section: Section, number: int, drawn: set[str], name: str) -> str:
    heading = f"<h2>{escape(name)}</h2>" if name else ""
    about = f"<p>{escape(section.about)}</p>"
    warnings = [f'<p class="note">{escape(remark)}</p>' for remark in tables.remarks(section)]
    figures = [tables.section_table(section, difference=True).html()]
    if section.measured:
        meaning = f'<p class="note">{_emphasised(tables.all_notes([section]))}</p>'
        figures.append(f"<details><summary>What the columns mean</summary>{meaning}</details>")
    if _is_comparison(section) or not section.measured:
        parts = [about, figures[0], *warnings, *figures[1:], *_comparison(section, number, drawn)]
    else:
        parts = [_facts(section), *warnings, *_learning(number, drawn), *_classes(section, number, drawn)]
        parts += ["<h3>All figures</h3>", about, *figures]
    return "\n".join([f'<section id="s{number}">{heading}', *parts, "</section>\n"])


def _facts(section: Section) -> str:
    """The head of a section with one row."""
    items = [
        f"<div><dt>{escape(fact.name)}</dt><dd>{escape(fact.value)}</dd>"
        + (f'<dd class="note">{escape(fact.note)}</dd>' if fact.note else "")
        + "</div>"
        for fact in headline.facts(section, section.measured[0])
    ]
    return f'<dl class="facts">{"".join(items)}</dl>'


def _learning(number: int, drawn: set[str]) -> list[str]:
    shown = [_chart(name, number) for name in ("loss", "val_accuracy") if name in drawn]
    return ["<h3>Learning curves</h3>", f'<div class="beside">{"".join(shown)}</div>' if shown else _NO_CURVE]


def _comparison(section: Section, number: int, drawn: set[str]) -> list[str]:
    """The charts and classes of several rows."""
    if not section.measured:
        return []
    parts = []
    for name, heading in _PARTS:
        if heading:
            parts.append(f"<h3>{heading}</h3>")
        if name in drawn:
            parts += [_chart(name, number), _caption(section, name)]
        elif heading:
            parts.append(_NO_CURVE)
    return [*parts, *_classes(section, number, drawn)]


def _is_comparison(section: Section) -> bool:
    return len(section.measured) > 1


def _chart(name: str, number: int) -> str:
    return f'<div class="scroll"><div class="chart" id="{name}{number}"></div></div>'


def _classes(section: Section, number: int, drawn: set[str]) -> list[str]:
    """The scores of each class for the best row, and F1 by method if there are several."""
    best = classes.best(section.measured)
    if best is None:
        return []
    whose = f", the most accurate of {len(section.measured)} rows" if _is_comparison(section) else ""
    seeds = f", over {best.done} seeds" if best.done > 1 else ""
    matrix = _chart("confusion", number) if "confusion" in drawn else ""
    parts = [
        "<h3>Classes</h3>",
        f"<p>Test nodes of each class, as predicted by {escape(best.label)}{whose}{seeds}.</p>",
        f'<div class="beside">{classes.class_table(best).html()}{matrix}</div>',
    ]
    if _is_comparison(section):
        summary = "<summary>F1 of each class by method, in %</summary>"
        parts.append(f"<details>{summary}{classes.f1_table(section.measured).html()}</details>")
    ranked = [row for row in section.measured if ranking.rankings(row)]
    if ranked:
        chart = _chart("ranking", number) if "ranking" in drawn else ""
        ranks = ranking.ranking_table(ranked).html()
        parts += ["<h3>Ranking</h3>", f"<p>{ranking.NOTE}</p>", ranks, chart]
    return parts


def _caption(section: Section, name: str) -> str:
    if name == "time":
        front = [
            f"{row.label} ({duration(row.figures.seconds_to_best)}, {row.figures.accuracy:.2%})"
            for row in charts.pareto(section.measured)
        ]
        return f'<p class="note">On the Pareto front: {escape(", ".join(front))}.</p>'
    without = [row.label for row in section.measured if not charts.has_curve(row)]
    if name == "by_epoch" and without:
        return f'<p class="note">Without a curve: {escape(", ".join(without))}.</p>'
    return ""


def _origin(sections: Sequence[Section]) -> str:
    items = "".join(f"<li>{escape(tables.environment(values))}</li>" for values in environments(sections))
    return (
        '<section id="origin"><h2>Commands and environments</h2>\n'
        f"<p>{escape(tables.NOTE_ON_COMMANDS)}</p>\n"
        f"{tables.provenance(sections).html(code='command')}\n"
        f"<h3>Environments</h3>\n<ol>{items}</ol></section>\n"
    )


def _emphasised(text: str) -> str:
    return re.sub(r"\*(.+?)\*", r"<em>\1</em>", escape(text))


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _resource(name: str) -> str:
    return (resources.files("mggcn.experiments") / name).read_text()
