"""A page for each method: what its module says, its settings, the paper it is from, and its numbers beside MG-GCN's."""

import inspect
import sys
from functools import cache

from generate.committed import about, packed, sections
from generate.roles import plain
from mggcn.experiments._report_tables import duration, percent
from mggcn.experiments._sections import Row
from mggcn.methods import EDGE_PARTS, METHODS, published
from mggcn.methods.method import Method
from mggcn.methods.settings import settings_of, written
from mggcn.runs import resolve
from mggcn.training import recipe_words

_DATASETS = ("cora", "citeseer", "pubmed", "reddit", "ethereum")
_NONE, _MOST_ROWS = "–", 12


def pages() -> dict[str, str]:
    """The text of every page by its place in the site."""
    return {"methods/index.md": _index()} | {f"methods/{name}.md": _page(name) for name in METHODS}


def reference() -> str:
    """The classes of the methods, for the Python reference."""
    names = ", ".join(method.__name__ for method in METHODS.values())
    options = ["show_root_heading: false", "show_root_toc_entry: false", "heading_level: 3"]
    return "\n".join(
        ["::: mggcn.methods", "    options:", *(f"      {line}" for line in [f"members: [{names}]", *options])]
    )


def nav() -> list[dict[str, str]]:
    """The pages of the methods in the order in which the package lists them."""
    return [{name: f"methods/{name}.md"} for name in METHODS]


def settings(method: type[Method]) -> str:
    """A table of a method's settings: name, default, values, description."""
    rows = [
        f"| `{setting.name}` | `{setting.value}` | {setting.values} | {plain(setting.description)} |"
        for setting in settings_of(method)
    ]
    return "\n".join(["| setting | default | values | |", "|---|---|---|---|", *rows])


def _index() -> str:
    lines = [
        "# Methods",
        "",
        "Every method is one class in `src/mggcn/methods`. All of them train in one loop, on one split, with "
        "one clock. *Uses of edges* says what a method can use of edges that have directions, weights or types. "
        "`mggcn train cora --method NAME` trains one, `mggcn compare cora --methods all` all of them. "
        "Numbers are mean test accuracies in %, with the number of seeds; [Methods compared](../compare.md) has the "
        "rest of the columns.",
        "",
        "| method | what it is | uses of edges | Cora | Citeseer | Pubmed |",
        "|---|---|---|---:|---:|---:|",
    ]
    for name in METHODS:
        cells = [_short(_compared().get((name, dataset))) for dataset in _DATASETS[:3]]
        lines.append(f"| [{name}]({name}.md) | {_title(name)} | {_of_edges(name)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _page(name: str) -> str:
    _, _, rest = _docstring(name).partition("\n\n")
    parts = [
        f"# {name}",
        f"{_title(name)}. Of directions, weights and types of edges it uses: {_of_edges(name)}.",
        rest,
        "## Settings",
        f"`mggcn train DATASET --method {name} --set NAME=VALUE …`. The settings of training, which all methods "
        "share, are under [Training](../api/runs.md#mggcn.training.Training).",
        settings(METHODS[name]),
        *_recipe(name),
        *_own_defaults(name),
        "## Numbers",
        _numbers(name),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _of_edges(name: str) -> str:
    return ", ".join(part for part in EDGE_PARTS if part in METHODS[name].reads_edges) or _NONE


def _docstring(name: str) -> str:
    return plain(inspect.getdoc(sys.modules[METHODS[name].__module__]) or "")


def _title(name: str) -> str:
    first, _, _ = _docstring(name).partition("\n\n")
    title = " ".join(first.split()).rstrip(".")
    kind = name.removeprefix("graphsage-")
    return title if kind == name else f"{title}; here with its aggregator {kind}"


def _recipe(name: str) -> list[str]:
    """The recipe with which training starts, if there is one."""
    recipe = published.recipe(name)
    if not recipe:
        return []
    lines = [
        f"| {condition} | {', '.join(f'`{key}={written(value)}`' for key, value in values.items())} |"
        for condition, values in recipe.items()
    ]
    return [
        "Training starts with a recipe of ours, which replaces these defaults; `--preset paper` leaves them:",
        "\n".join(["| data sets with | |", "|---|---|", *lines]),
        *_portfolio(name),
    ]


def _portfolio(name: str) -> list[str]:
    """The recipes of the method's portfolio, if it has one."""
    recipes = published.portfolio(name)
    if not recipes:
        return []
    lines = [f"{number}. `{recipe_words(table, {})}`" for number, table in enumerate(recipes, 1)]
    page = "../how-it-works.md#a-portfolio-of-recipes"
    head = f"It trains a [portfolio of recipes]({page}), `portfolio=none` the first alone:"
    return [head, "\n".join(lines).replace("`the method's recipe`", "the one above")]


def _own_defaults(name: str) -> list[str]:
    """What differs from the defaults on the data sets of the paper."""
    usual = resolve(name, "", preset="paper").settings
    lines = []
    for dataset in _DATASETS:
        own = resolve(name, dataset, preset="paper").settings
        changed = [f"`{key}={written(value)}`" for key, value in own.items() if value != usual[key]]
        if changed:
            lines.append(f"| {dataset} | {', '.join(changed)} |")
    if not lines:
        return []
    where = "With `--preset paper`, on" if published.recipe(name) else "On"
    head = f"{where} data sets of these names, other defaults hold:"
    return [head, "\n".join(["| data set | |", "|---|---|", *lines])]


def _numbers(name: str) -> str:
    """What the MG-GCN paper reports of a method beside all that the committed results hold of it."""
    head = ["| data set | MG-GCN paper, % | mggcn, % | an epoch | memory | nodes a batch | seeds | from |"]
    lines = [*head, "|---|---:|---:|---:|---:|---:|---:|---|"]
    elsewhere = []
    for source, rows in _measured(name).items():
        if len(rows) > _MOST_ROWS:
            elsewhere.append(source)
        else:
            lines += [_row(what, row, source) for what, row in rows]
    for dataset in ("reddit", "ethereum"):
        published = _published(name, dataset)
        if published is not None:
            cells = [dataset, _percent(published), *[_NONE] * 5, "[not measured](../experiments.md#what-is-not-here)"]
            lines.append(f"| {' | '.join(cells)} |")
    notes = ["Accuracies are of the test nodes, mean ± standard deviation over seeds."]
    if not any(_published(name, dataset) for dataset in _DATASETS):
        notes.append("The MG-GCN paper has no figure for this method.")
    notes.append("Times are of different machines from file to file: compare them within one file only.")
    if elsewhere:
        notes.append(f"More variants of this method are under {', '.join(elsewhere)}.")
    return "\n".join(lines) + f"\n\n{' '.join(notes)}"


def _published(name: str, dataset: str) -> float | None:
    """The best published accuracy of a method on a data set, over the sample sizes of the paper's tables."""
    rows = [
        row for table in published.published().tables for row in table.rows if table.name in ("accuracy", "ethereum")
    ]
    values = [row.accuracy for row in rows if (row.dataset, row.method) == (dataset, name) and row.accuracy]
    return max(values, default=None)


def _row(what: str, row: Row, source: str) -> str:
    figures = row.figures
    cells = (
        what,
        _percent(row.published.get("accuracy")),
        percent(figures.accuracy, figures.accuracy_std),
        duration(figures.epoch_seconds) if figures.epochs else _NONE,
        f"{figures.peak_memory_bytes / 2**20:,.0f} MiB",
        f"{figures.nodes_per_batch:,.0f}" if figures.nodes_per_batch else _NONE,
        str(row.done),
        source,
    )
    return f"| {' | '.join(cells)} |"


def _measured(name: str) -> dict[str, list[tuple[str, Row]]]:
    """All rows of a method with the data sets they are of, by a link to their source."""
    return {
        f"[{path.stem}](../results/index.md#{path.stem})": [
            (section.dataset if row.label == name else f"{section.dataset}, {row.label}", row)
            for section in sections(path)
            for row in section.measured
            if row.method == name
        ]
        for path in packed()
    }


@cache
def _compared() -> dict[tuple[str, str], Row]:
    """The rows of the comparison of all methods, by method and data set."""
    return {
        (row.method, section.dataset): row
        for path in packed()
        if about(path) == "compare"
        for section in sections(path)
        for row in section.measured
    }


def _short(row: Row | None) -> str:
    return "not run yet" if row is None else f"{row.figures.accuracy * 100:.1f} ({row.done})"


def _percent(share: float | None) -> str:
    return _NONE if share is None else f"{share * 100:.1f}"
