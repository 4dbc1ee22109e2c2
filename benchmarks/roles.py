"""Whether roles of accounts, directions or amounts of edges help to find Phish, measured on validation accounts.

    python benchmarks/roles.py build transactions.parquet labels_etherscan.csv --out cases
    python benchmarks/roles.py run cases --out roles.jsonl
    python benchmarks/roles.py table roles.jsonl

Validation accounts are those first seen between the dates of a split by time, as of its second date. *PR-AUC* is among
those with a label (the class Background is one), *lower bound* among all of them, where every account without a label
counts as no member. *Payers* are the accounts that never received anything among the first hundred without a known
label. Finished runs in the file are not repeated.
"""

import json
import os
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from cyclopts import App
from numpy.typing import NDArray

import mggcn
from mggcn.data import BACKGROUND, ids_without_date, is_dataset, load_folder
from mggcn.data._dataset import Dataset
from mggcn.ethereum._account_features import ROLE_FEATURES
from mggcn.graph import Graph
from mggcn.training import Ranked

_CLASS, _BACKGROUND, _FIRST = "Phish", 2000, 100
_DATES = (
    "2018-01-31,2018-03-31",
    "2018-02-28,2018-04-30",
    "2018-03-31,2018-05-31",
    "2018-04-30,2018-06-30",
    "2018-05-31,2018-07-31",
    "2018-06-30,2018-07-31",
)
_SETTINGS = {"conv": "pool", "skip_self": False, "padding": "none", "picks": 10, "portfolio": "none"}
_FIGURES = {"pr_auc": "PR-AUC, %", "bound": "lower bound, %", "payers": f"payers among the first {_FIRST}"}

app = App(help=__doc__)


@app.command
def build(transactions: Path, labels: Path, *, out: Path) -> None:
    """Build six splits by time with roles and the class Background."""
    from mggcn.ethereum import BuildInputs, TimeSplit
    from mggcn.ethereum import build as build_accounts

    for number, dates in enumerate(_DATES):
        split = TimeSplit.parse(f"time:{dates}")
        inputs = BuildInputs((transactions,))
        build_accounts(inputs, out / str(number), labels=labels, time_split=split, seed=number, background=_BACKGROUND)
        print(out / str(number))  # noqa: T201


def _without_roles(data: Dataset) -> Dataset:
    kept = [number for number, name in enumerate(data.feature_names) if name not in ROLE_FEATURES]
    names = tuple(data.feature_names[number] for number in kept)
    measures = {name: data.measures[name] for name in names}
    return replace(data, x=np.asarray(data.x)[:, kept], feature_names=names, measures=measures, mapped=None)


def _with_edges(data: Dataset, weight: Callable[[NDArray[Any]], NDArray[Any]] | None) -> Dataset:
    """The same accounts with directed edges, weighted by a function of their sums in ether."""
    rows, columns = data.graph.edges()
    paid = data.edge_attributes["count"] > 0
    weights = None
    if weight is not None:
        paid &= data.edge_attributes["value"] > 0
        weights = weight(data.edge_attributes["value"][paid])
    graph = Graph.from_edges(rows[paid], columns[paid], data.num_nodes, direction="directed", weight=weights)
    return replace(data, graph=graph, edge_attributes={}, mapped=None)


_VARIANTS: dict[str, Callable[[Dataset], Dataset]] = {
    "thirteen features": _without_roles,
    "with roles": lambda data: data,
    "directed": lambda data: _with_edges(_without_roles(data), None),
    "directed, with roles": lambda data: _with_edges(data, None),
    "directed, weighted by ether, with roles": lambda data: _with_edges(data, lambda ether: ether),
    "directed, weighted by log of ether, with roles": lambda data: _with_edges(data, np.log1p),
}


@app.command
def run(cases: Path, *, seeds: int = 3, out: Path) -> None:
    """Train and measure; a line for each run."""
    done = {(line["case"], line["variant"], line["seed"]) for line in _read(out)}
    torch.set_num_threads(1)
    for seed in range(seeds):
        for folder in sorted(path for path in cases.iterdir() if is_dataset(path)):
            for name, variant in _VARIANTS.items():
                if (folder.name, name, seed) not in done:
                    line = {"case": folder.name, "variant": name, "seed": seed}
                    line |= _measure(load_folder(folder), variant, seed)
                    with out.open("a") as file:
                        file.write(json.dumps(line) + "\n")


def _measure(data: Dataset, variant: Callable[[Dataset], Dataset], seed: int) -> dict[str, object]:
    trained = mggcn.fit(variant(data), "mg-gcn", seed=seed, settings=_SETTINGS)
    nodes, labels = _validation(data)
    label, received = data.classes.index(_CLASS), data.feature_names.index("in_tx")
    p, is_member = trained.predict(nodes=nodes).probabilities[:, label], labels == label
    is_unknown = (labels < 0) | (labels == data.classes.index(BACKGROUND))
    first = nodes[is_unknown][np.argsort(-p[is_unknown], kind="stable")[:_FIRST]]
    return {
        "pr_auc": Ranked(p[labels >= 0], is_member[labels >= 0]).pr_auc(),
        "bound": Ranked(p, is_member).pr_auc(),
        "payers": int((data.x[first][:, received] == 0).sum()),
        "accounts": int(nodes.size),
        "labelled": int((labels >= 0).sum()),
        "members": int(is_member.sum()),
    }


def _validation(data: Dataset) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The copies as of the second date of all accounts that have none as of the first, and their labels, or -1."""
    copies = np.arange(data.num_current, data.num_nodes)
    names = ids_without_date(data, copies)
    val_size = int(np.flatnonzero(names[1:] < names[:-1])[0]) + 1  # each part is sorted by address
    nodes = copies[:val_size][~np.isin(names[:val_size], names[val_size:])]
    current = ids_without_date(data, np.arange(data.num_current))
    labels = data.y[np.searchsorted(current, ids_without_date(data, nodes))]
    assert np.array_equal(np.sort(nodes[labels >= 0]), data.require_split().val)  # noqa: S101
    return nodes, labels


@app.command
def table(file: Path) -> None:
    """Print the means over splits and seeds."""
    print(tables(file))  # noqa: T201


def tables(file: Path) -> str:
    """The same as text."""
    lines = _read(file)
    rows = [["accounts and edges", *_FIGURES.values(), "runs"], ["---", *["---:"] * (len(_FIGURES) + 1)]]
    for name in _VARIANTS:
        found = [line for line in lines if line["variant"] == name]
        if found:
            cells = [_mean(found, figure, 1 if figure == "payers" else 100) for figure in _FIGURES]
            rows.append([name, *cells, str(len(found))])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _mean(lines: list[dict[str, Any]], figure: str, factor: float) -> str:
    values = [factor * line[figure] for line in lines]
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.1f}{spread}"


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    app()
