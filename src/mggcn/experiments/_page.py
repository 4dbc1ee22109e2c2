"""Reports of records; as one self-contained page: charts, their data and the scripts that draw them."""

import contextlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib import metadata, resources
from typing import Literal

from mggcn._io import regular
from mggcn._io.files import checksummed, without_checksum, write_atomically
from mggcn.data import user_cache
from mggcn.experiments import _budgets as budgets
from mggcn.experiments import _charts as charts
from mggcn.experiments import _classes as classes
from mggcn.experiments import _report_tables as tables
from mggcn.experiments._positions import positions
from mggcn.experiments._recipes import recipe_table, selection
from mggcn.experiments._records import pack
from mggcn.experiments._report_tables import duration
from mggcn.experiments._sections import Row, Section, environments
from mggcn.training import RunRecord

Format = Literal["html", "md", "json"]

_MOST_NAMES = 4
_SCRIPTS = ("shared.js", "page.js")
_SAFE = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"
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
        return _page(sections, parts)
    return _document(sections) if form == "md" else pack(sections)


def _document(sections: Sequence[Section]) -> str:
    together = [
        f"## {tables.escaped(one.heading)}\n\n{one.table().markdown()}\n\n{one.note}" for one in positions(sections)
    ]
    return tables.document(sections, together)


def _page(sections: Sequence[Section], parts: Sequence[Part]) -> str:
    points, names = charts.most_points(sections), _names(sections)
    specs: dict[str, charts.Spec] = {}
    data: dict[str, charts.Values] = {}
    bodies = []
    for number, (section, name) in enumerate(zip(sections, names, strict=True)):
        drawn = _charts(section, points)
        for kind, spec in drawn.items():
            data |= spec.pop("datasets")
            specs[f"{kind}{number}"] = spec
        bodies.append(_section(section, number, set(drawn), name))
    together = positions(sections)
    for number, found in enumerate(together):
        spec = found.chart()
        data |= spec.pop("datasets")
        specs[f"positions{number}"] = spec
        chart = f'<div class="scroll"><div class="chart" id="positions{number}"></div></div>'
        note = f'<p class="note">{escape(found.note)}</p>'
        bodies.append(f'<section id="all{number}"><h2>{escape(found.heading)}</h2>\n{chart}\n{note}</section>\n')
    for number, part in enumerate(parts):
        bodies.append(f'<section id="p{number}"><h2>{escape(part.title)}</h2>\n{part.body}</section>\n')
    contents = "".join(f'<a href="#s{number}">{escape(name)}</a> ' for number, name in enumerate(names) if name)
    contents += "".join(f'<a href="#all{number}">{escape(one.heading)}</a> ' for number, one in enumerate(together))
    contents += "".join(f'<a href="#p{number}">{escape(part.title)}</a> ' for number, part in enumerate(parts))
    hint = _HINT if any(map(_is_comparison, sections)) else ""
    body = f"{hint}\n{''.join(bodies)}{_origin(sections)}"
    contents += '<a href="#origin">Commands and environments</a>'
    return page(title(sections), body, {"data": data, "charts": specs}, contents=contents)


def page(
    heading: str, body: str, content: Mapping[str, object], *, contents: str = "", style: str = "", script: str = ""
) -> str:
    """A self-contained page with charts, which fetches nothing.

    Args:
        heading: its title.
        body: HTML under the heading; the chart NAME is drawn in an element of the class ``chart`` with this id.
        content: ``charts`` are specifications by name, ``data`` their data; a script finds more in ``page``.
        contents: links to parts of the page.
        style: more rules after those of all pages.
        script: what runs after the charts are drawn.
    """
    packed = json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_SAFE}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(heading)} · mggcn</title>
<style>{_resource("page.css")}{style}</style>
</head>
<body>
<nav>{contents}</nav>
<h1>{escape(heading)}</h1>
{body}
<script type="application/json" id="data">{packed}</script>
<script type="module">{vega()}</script>
<script type="module">{"".join(map(_resource, _SCRIPTS))}{script}</script>
</body>
</html>
"""


def _charts(section: Section, points: int) -> dict[str, charts.Spec]:
    """The charts of a section by kind; a curve has at most ``points`` points."""
    best = classes.best(section.measured)
    drawn: dict[str, charts.Spec | None] = {}
    if _is_comparison(section):
        drawn |= {"budgets": budgets.chart(section, points)} | charts.charts(section, points)
    elif section.measured and charts.has_curve(section.measured[0]):
        drawn["loss"] = charts.loss(section.measured[0], points)
        drawn["by_epoch"] = charts.curves(section, points)["by_epoch"]
    if best:
        drawn["confusion"] = classes.confusion_chart(section.dataset, best)
        drawn["ranking"] = classes.ranking_chart(section.dataset, best)
    return {kind: spec for kind, spec in drawn.items() if spec}


def title(sections: Sequence[Section]) -> str:
    """The name of a page: the run, or the experiments or methods with their data sets."""
    rows = [row for section in sections for row in section.rows]
    if len(rows) == 1 and not sections[0].experiment:
        of_seeds = f", {_seeds(rows[0].records)}" if rows[0].records else ""
        return f"{rows[0].label} on {sections[0].dataset}{of_seeds}"
    titles = list(dict.fromkeys(section.title for section in sections))
    more = [f"{len(titles) - _MOST_NAMES} more"] if len(titles) > _MOST_NAMES else []
    return "; ".join([*titles[:_MOST_NAMES], *more])


def _names(sections: Sequence[Section]) -> list[str]:
    """The headings of sections, without what the title of the page says; empty if there is only one section."""
    if len(sections) == 1:
        return [""]
    same = len({section.experiment for section in sections}) == 1
    return [section.dataset if same else section.title for section in sections]


def _section(section: Section, number: int, drawn: set[str], name: str) -> str:
    """The table and charts that compare the rows of a section, or the main figures and curves of its only one."""

    def chart(kind: str) -> str:
        return f'<div class="scroll"><div class="chart" id="{kind}{number}"></div></div>' if kind in drawn else ""

    about = f"<p>{escape(section.about)}</p>"
    warnings = [f'<p class="note">{escape(remark)}</p>' for remark in tables.remarks(section)]
    figures = [tables.section_table(section).html()]
    if section.measured:
        note = re.sub(r"\*(.+?)\*", r"<em>\1</em>", escape(tables.notes([section])))
        figures.append(f'<details><summary>What the columns mean</summary><p class="note">{note}</p></details>')
    if _is_comparison(section):
        parts = [about, figures[0], *warnings, figures[1], *_comparison(section, chart), *_classes(section, chart)]
    elif section.measured:
        curves = f'<div class="beside">{chart("loss")}{chart("by_epoch")}</div>' if "loss" in drawn else _NO_CURVE
        parts = [_facts(section), *warnings, *_recipes(section.measured[0])]
        parts += ["<h3>Learning curves</h3>", curves, *_classes(section, chart)]
        parts += ["<h3>All figures</h3>", about, *figures]
    else:
        parts = [about, *figures, *warnings]
    return "\n".join([f'<section id="s{number}">', f"<h2>{escape(name)}</h2>" if name else "", *parts, "</section>\n"])


def _recipes(row: Row) -> list[str]:
    """The recipes of portfolios, for each seed."""
    parts = []
    for record in row.records:
        if record.portfolio is not None:
            seed = f" of seed {record.seed}" if row.done > 1 else ""
            parts += [f"<h3>Recipes{seed}</h3>", recipe_table(record).html()]
            parts.append(f"<p>Selected: {escape(selection(record))}.</p>")
    return parts


def _is_comparison(section: Section) -> bool:
    return len(section.measured) > 1


def _comparison(section: Section, chart: Callable[[str], str]) -> list[str]:
    front = [
        f"{row.label} ({duration(row.figures.seconds_to_best)}, {row.figures.accuracy:.2%})"
        for row in charts.pareto(section.measured)
    ]
    without = [row.label for row in section.measured if not charts.has_curve(row)]
    led = [f"{label} within {duration(seconds)}" for seconds, label in budgets.leaders(section)]
    curves = [chart("by_epoch")] if len(without) < len(section.measured) else [_NO_CURVE]
    if without and len(without) < len(section.measured):
        curves.append(f'<p class="note">Without a curve: {escape(", ".join(without))}.</p>')
    parts = ["<h3>Accuracy against time</h3>", chart("budgets")]
    best = f" The best validation accuracy: {', '.join(led)}." if led else ""
    parts.append(f'<p class="note">{escape(budgets.NOTE + best)}</p>')
    parts += ["<h3>Accuracy</h3>", chart("accuracy"), "<h3>Convergence</h3>", *curves]
    parts += ["<h3>Time and accuracy</h3>", chart("time")]
    parts.append(f'<p class="note">On the Pareto front: {escape(", ".join(front))}.</p>')
    return [*parts, "<h3>Memory</h3>", chart("memory")]


def _classes(section: Section, chart: Callable[[str], str]) -> list[str]:
    """The scores of each class for the best row, and F1 by method if there are several."""
    best = classes.best(section.measured)
    if best is None:
        return []
    whose = f", the most accurate of {len(section.measured)} rows" if _is_comparison(section) else ""
    seeds = f", over {best.done} seeds" if best.done > 1 else ""
    parts = [
        "<h3>Classes</h3>",
        f"<p>Test nodes of each class, as predicted by {escape(best.label)}{whose}{seeds}.</p>",
        f'<div class="beside">{classes.class_table(best).html()}{chart("confusion")}</div>',
    ]
    if _is_comparison(section):
        summary = "<summary>F1 of each class by method, in %</summary>"
        parts.append(f"<details>{summary}{classes.f1_table(section.measured).html()}</details>")
    ranked = classes.ranking_table(section.measured)
    if ranked.items:
        parts += ["<h3>Ranking</h3>", f"<p>{classes.NOTE}</p>", ranked.html(), chart("ranking")]
    return parts


def _facts(section: Section) -> str:
    """The head of a section with one row."""
    items = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd>"
        + (f'<dd class="note">{escape(note)}</dd>' if note else "")
        + "</div>"
        for name, value, note in facts(section, section.measured[0])
    )
    return f'<dl class="facts">{items}</dl>'


def facts(section: Section, row: Row) -> list[tuple[str, str, str]]:
    """What a page says first about a row, each with a name and a note: method, data, scores, epochs and time."""
    figures, dataset, published = row.figures, row.records[0].dataset, row.published.get("accuracy")
    notes = [interval(row)] if interval(row) else []
    notes += [f"paper: {published * 100:.1f} %"] if published is not None else []
    deviation = "" if figures.accuracy_std is None else f" ± {figures.accuracy_std * 100:.2f}"
    size = [f"{dataset[f'num_{name}']:,} {name}" for name in ("nodes", "edges") if dataset.get(f"num_{name}")]
    found = [
        ("method", row.label, _seeds(row.records)),
        ("data set", section.dataset, ", ".join(size)),
        ("test accuracy", f"{figures.accuracy * 100:.2f}{deviation} %", "; ".join(notes)),
        ("test macro-F1", f"{figures.macro_f1 * 100:.2f} %", ""),
    ]
    if figures.epochs:
        digits, mean = (1, "mean over seeds") if row.done > 1 else (0, "")
        found.append(("best epoch", f"{figures.best_epoch:,.{digits}f} of {figures.epochs:,.{digits}f}", mean))
    return [*found, ("time to best epoch", duration(figures.seconds_to_best), f"on {row.device}")]


def interval(row: Row) -> str:
    """The 95 % confidence interval of a row's accuracy, in words.

    Of one seed it is Wilson's interval for the number of test nodes, empty if the record does not hold that number; of
    several seeds the t interval of their mean.
    """
    from scipy import stats

    mean, deviation = row.figures.accuracy, row.figures.accuracy_std
    if deviation is not None:
        half = float(stats.t.ppf(0.975, row.done - 1)) * deviation / math.sqrt(row.done)
        low, high = max(0.0, mean - half), min(1.0, mean + half)
        kind = f"t interval of the mean over {row.done} seeds"
    else:
        record = row.records[0]
        nodes = sum(map(sum, record.test_confusion)) or int((record.dataset.get("split") or [0])[-1])
        if not nodes:
            return ""
        low, high = stats.binomtest(round(mean * nodes), nodes).proportion_ci(method="wilson")
        kind = f"Wilson interval for {nodes:,} test nodes"
    return f"95 % confidence interval {low * 100:.1f} to {high * 100:.1f} %: {kind}"


def _seeds(records: Sequence[RunRecord]) -> str:
    """The seeds of records, consecutive ones as a range."""
    texts = [
        str(first) if count == 1 else f"{first} to {first + count - 1}"
        for first, count in tables.ranges(record.seed for record in records)
    ]
    return f"seed{'s' * (len(records) > 1)} {', '.join(texts)}"


def _origin(sections: Sequence[Section]) -> str:
    items = "".join(f"<li>{escape(tables.environment(values))}</li>" for values in environments(sections))
    return (
        '<section id="origin"><h2>Commands and environments</h2>\n'
        f"<p>{escape(tables.NOTE_ON_COMMANDS)}</p>\n"
        f"{tables.provenance(sections).html(code='command')}\n"
        f"<h3>Environments</h3>\n<ol>{items}</ol></section>\n"
    )


def _resource(name: str) -> str:
    return (resources.files("mggcn.experiments") / name).read_text()


@cache
def vega() -> str:
    """The script of the charting library, which sets ``window.vegaEmbed``.

    To bundle it takes seconds, so the bundle of each version is kept in the user's cache.
    """
    version = ".".join(charts.require_altair().SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    path = user_cache() / f"vega-{version}-{metadata.version('vl-convert-python')}.json"
    with contextlib.suppress(OSError, ValueError):
        return str(json.loads(without_checksum(regular.read(path)))["script"])
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=version)
    script = bundle.replace("</script", "<\\/script")
    with contextlib.suppress(OSError):  # a page needs no cache
        write_atomically(path, checksummed(json.dumps({"script": script})))
    return script
