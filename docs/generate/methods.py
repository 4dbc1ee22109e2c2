"""A page for each method: what its module says, its settings, the paper it is from, and its numbers beside MG-GCN's."""

import inspect
import sys
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

import griffe

from generate.committed import packed, sections
from generate.repository import script
from generate.roles import plain
from mggcn.methods import METHODS, paper, plan
from mggcn.records.summary import Figures, duration

SOURCES = {
    "mg-gcn": "Huang, Zhang, Wu, Fang and Zheng: MG-GCN: Fast and Effective Learning with Mix-grained Aggregators for "
    "Training Large Graph Convolutional Networks, 2020",
    "gcn": "Kipf and Welling: Semi-Supervised Classification with Graph Convolutional Networks, ICLR 2017",
    "sgc": "Wu, Zhang, de Souza, Fifty, Yu and Weinberger: Simplifying Graph Convolutional Networks, ICML 2019",
    "sign": "Frasca, Rossi, Eynard, Chamberlain, Bronstein and Monti: SIGN: Scalable Inception Graph Neural Networks, "
    "2020",
    "cluster-gcn": "Chiang, Liu, Si, Li, Bengio and Hsieh: Cluster-GCN: An Efficient Algorithm for Training Deep and "
    "Large Graph Convolutional Networks, KDD 2019",
    "fastgcn": "Chen, Ma and Xiao: FastGCN: Fast Learning with Graph Convolutional Networks via Importance Sampling, "
    "ICLR 2018",
    "ladies": "Zou, Hu, Wang, Jiang, Sun and Gu: Layer-Dependent Importance Sampling for Training Deep and Large Graph "
    "Convolutional Networks, NeurIPS 2019",
    "graphsage": "Hamilton, Ying and Leskovec: Inductive Representation Learning on Large Graphs, NIPS 2017",
    "graphsaint": "Zeng, Zhou, Srivastava, Kannan and Prasanna: GraphSAINT: Graph Sampling Based Inductive Learning "
    "Method, ICLR 2020",
    "vr-gcn": "Chen, Zhu and Song: Stochastic Training of Graph Convolutional Networks with Variance Reduction, ICML "
    "2018",
    "as-gcn": "Huang, Zhang, Rong and Huang: Adaptive Sampling Towards Fast Graph Representation Learning, NeurIPS "
    "2018",
    "label-propagation": "Zhou, Bousquet, Lal, Weston and Schölkopf: Learning with Local and Global Consistency, NIPS "
    "2003",
    "deepwalk": "Perozzi, Al-Rfou and Skiena: DeepWalk: Online Learning of Social Representations, KDD 2014",
    "random-forest": "Breiman: Random Forests, Machine Learning 45, 2001",
    "node2vec": "Grover and Leskovec: node2vec: Scalable Feature Learning for Networks, KDD 2016",
}
_PARTS = {"mg-fastgcn": ("mg-gcn", "fastgcn"), "mg-graphsage": ("mg-gcn", "graphsage")}
_DATASETS = ("cora", "citeseer", "pubmed", "reddit", "ethereum")
_NONE, _MOST_ROWS = "–", 12


def pages() -> dict[str, str]:
    """The text of every page by its place in the site."""
    return {"methods/index.md": _index()} | {f"methods/{name}.md": _page(name) for name in METHODS}


def nav() -> list[dict[str, str]]:
    """The pages of the methods in the order in which the package lists them."""
    return [{name: f"methods/{name}.md"} for name in METHODS]


def sources(method: str) -> list[str]:
    """The papers that a method is from; none where there is no single one."""
    parts = _PARTS.get(method, ("graphsage",) if method.startswith("graphsage-") else (method,))
    return [SOURCES[part] for part in parts if part in SOURCES]


def settings(config: type[Any]) -> str:
    """A table of a settings class: name, default, values, meaning."""
    meanings, types = _meanings(config), get_type_hints(config)
    rows = [
        f"| `{one.name}` | `{_value(one.default)}` | {_values(types[one.name])} | {meanings[one.name]} |"
        for one in fields(config)
    ]
    return "\n".join(["| setting | default | values | |", "|---|---|---|---|", *rows])


def _index() -> str:
    lines = [
        "# Methods",
        "",
        "Every method is a recipe of a page in `src/mggcn/methods`. All of them train in one loop, on one split, with "
        "one clock. `mggcn train cora --method NAME` trains one, `mggcn compare cora --methods all` all of them. "
        "Numbers are mean test accuracies in %, with the number of seeds; [Methods compared](../compare.md) has the "
        "rest of the columns.",
        "",
        "| method | what it is | Cora | Citeseer | Pubmed |",
        "|---|---|---:|---:|---:|",
    ]
    for name in METHODS:
        cells = [_short(_compared().get((name, dataset))) for dataset in _DATASETS[:3]]
        lines.append(f"| [{name}]({name}.md) | {_title(name)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _page(name: str) -> str:
    recipe = METHODS[name]
    _, _, rest = _docstring(name).partition("\n\n")
    papers = "\n".join(f"- {source}." for source in sources(name))
    parts = [
        f"# {name}",
        f"{_title(name)}.",
        rest,
        *(["## Paper" if len(sources(name)) == 1 else "## Papers", papers] if papers else []),
        "## Settings",
        f"`mggcn train DATASET --method {name} --set NAME=VALUE …`. The settings of training, which all methods "
        "share, are under [Training](../api/runs.md#mggcn.train.Training).",
        settings(recipe.config),
        *_own_defaults(name),
        "## Numbers",
        _numbers(name),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _docstring(name: str) -> str:
    views: Any = METHODS[name].views
    module = sys.modules[getattr(views, "func", views).__module__]  # some are functools' partial forms
    return plain(inspect.getdoc(module) or "")


def _title(name: str) -> str:
    first, _, _ = _docstring(name).partition("\n\n")
    title = " ".join(first.split()).rstrip(".")
    kind = name.removeprefix("graphsage-")
    return title if kind == name else f"{title}; here with its aggregator {kind}"


def _meanings(config: type[Any]) -> dict[str, str]:
    """What the docstrings of a class and its bases say of its attributes, the nearest of them first."""
    found: dict[str, str] = {}
    for one in reversed(config.__mro__):
        text = plain(inspect.cleandoc(one.__doc__ or ""))
        for section in griffe.Docstring(text).parse("google", warnings=False):
            if section.kind is griffe.DocstringSectionKind.attributes:
                found |= {item.name: " ".join(item.description.split()) for item in section.value}
    return found


def _values(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(kind))
    if kind is bool:
        return "`true`, `false`"
    return {int: "a whole number", float: "a number", str: "text"}[kind]


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _own_defaults(name: str) -> list[str]:
    """What differs from the defaults on the data sets of the paper."""
    usual = plan(name, "", {}).settings
    lines = []
    for dataset in _DATASETS:
        own = plan(name, dataset, {}).settings
        changed = [f"`{key}={_value(value)}`" for key, value in own.items() if value != usual[key]]
        if changed:
            lines.append(f"| {dataset} | {', '.join(changed)} |")
    if not lines:
        return []
    return ["On data sets of these names, other defaults hold:", "\n".join(["| data set | |", "|---|---|", *lines])]


def _numbers(name: str) -> str:
    """What the MG-GCN paper reports of a method beside all that the committed results hold of it."""
    head = ["| data set | MG-GCN paper, % | mggcn, % | an epoch | memory | nodes a batch | seeds | from |"]
    lines = [*head, "|---|---:|---:|---:|---:|---:|---:|---|"]
    elsewhere = []
    for place, found in _measured(name).items():
        if len(found) > _MOST_ROWS:
            elsewhere.append(place)
        else:
            lines += [_row(one, place) for one in found]
    for dataset in ("reddit", "ethereum"):
        published = paper.ACCURACY.get(name, {}).get(dataset)
        if published is not None:
            cells = [dataset, _percent(published), *[_NONE] * 5, "[not measured](../experiments.md#what-is-not-here)"]
            lines.append(f"| {' | '.join(cells)} |")
    notes = ["Accuracies are of the test nodes, mean ± standard deviation over seeds."]
    if name not in paper.ACCURACY:
        notes.append("The MG-GCN paper has no figure for this method.")
    notes.append("Times are of different machines from file to file: compare them within one file only.")
    if elsewhere:
        notes.append(f"More variants of this method are under {', '.join(elsewhere)}.")
    return "\n".join(lines) + f"\n\n{' '.join(notes)}"


def _row(one: "_Measured", place: str) -> str:
    figures = one.figures
    cells = (
        one.what,
        _percent(one.published),
        _accuracy(figures),
        duration(figures.epoch_seconds) if figures.epochs else _NONE,
        f"{figures.peak_memory_bytes / 2**20:,.0f} MiB",
        f"{figures.nodes_per_batch:,.0f}" if figures.nodes_per_batch else _NONE,
        str(one.seeds),
        place,
    )
    return f"| {' | '.join(cells)} |"


@dataclass(frozen=True)
class _Measured:
    """Figures of a method on a data set, which ``what`` names, and the paper's accuracy, where it has one."""

    what: str
    published: float | None
    figures: Figures
    seeds: int


def _measured(name: str) -> dict[str, list[_Measured]]:
    """All figures of a method by a link to where they are from."""
    found = {}
    for path in packed():
        found[f"[{path.stem}](../results/index.md#{path.stem})"] = [
            _Measured(
                section.dataset if line.label == name else f"{section.dataset}, {line.label}",
                line.summary.published,
                line.figures,
                line.summary.done,
            )
            for section in sections(path)
            for line in section.run
            if line.summary.method == name
        ]
    for dataset in _DATASETS:
        if (name, dataset) in _compared():
            figures, seeds = _compared()[name, dataset]
            published = paper.ACCURACY.get(name, {}).get(dataset)
            found[f"[comparison](../compare.md#{dataset})"] = [_Measured(dataset, published, figures, seeds)]
    return found


@cache
def _compared() -> dict[tuple[str, str], tuple[Figures, int]]:
    """Figures and seeds by method and data set, from the comparison of all methods."""
    page = script("benchmarks/compare_page.py")
    return {
        (one.method, dataset): (one.figures, one.done)
        for dataset, result in page.read("compare").items()
        for one in page.summaries(result)
        if one.figures
    }


def _short(found: tuple[Figures, int] | None) -> str:
    return _NONE if found is None else f"{found[0].accuracy * 100:.1f} ({found[1]})"


def _accuracy(figures: Figures) -> str:
    deviation = "" if figures.accuracy_std is None else f" ± {figures.accuracy_std * 100:.2f}"
    return f"{figures.accuracy * 100:.2f}{deviation}"


def _percent(share: float | None) -> str:
    return _NONE if share is None else f"{share * 100:.1f}"
