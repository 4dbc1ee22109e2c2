"""For each kind of data, how far every method is from the best and how long it trains, from committed records."""

import statistics
from collections.abc import Mapping, Sequence

from generate.compare import Rows, rows_of
from mggcn.methods import METHODS

KINDS = {
    "Papers with sparse words": ("cora", "citeseer", "pubmed", "coauthor-cs"),
    "Products bought together": ("amazon-computers",),
    "Images, joined to similar ones": ("digits",),
    "Accounts of Ethereum, with few dense features": ("ethereum-behaviour", "ethereum-etherscan"),
}
"""The data sets of each kind that all methods were tuned on."""

_NEAR = 0.01
_NOT_THERE = "–"


def tables() -> str:
    """For each kind the methods that are near the best on all its data sets, and a table of all methods."""
    default, tuned = rows_of("default"), rows_of("tuned-")
    parts = []
    for kind, datasets in KINDS.items():
        behind = {method: _behind(tuned, method, datasets) for method in METHODS}
        measured = sorted((value, method) for method, value in behind.items() if value is not None)
        near = [method for _, method in measured if _farthest(tuned, method, datasets) <= _NEAR]
        where = "each of them" if len(datasets) > 1 else "it"
        parts += [
            f"### {kind}",
            f"{', '.join(datasets)}. Tuned, within a point of the best on {where}: "
            f"{', '.join(f'[{method}](methods/{method}.md)' for method in near)}.",
            table([method for _, method in measured], datasets, default, tuned),
        ]
    return "\n\n".join(parts)


def table(methods: Sequence[str], datasets: Sequence[str], default: Rows, tuned: Rows) -> str:
    """The mean distance to the best and the median time of methods over data sets, in their order."""
    lines = [
        "| method | points behind the best, defaults | to best | points behind the best, tuned | to best |",
        "|---|---:|---:|---:|---:|",
    ]
    for method in methods:
        cells = [cell for rows in (default, tuned) for cell in _cells(rows, method, datasets)]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cells(rows: Rows, method: str, datasets: Sequence[str]) -> tuple[str, str]:
    behind = _behind(rows, method, datasets)
    if behind is None:
        return _NOT_THERE, _NOT_THERE
    seconds = statistics.median(rows[dataset][method].figures.seconds_to_best for dataset in datasets)
    return f"{behind * 100:.1f}", f"{seconds:.1f} s"


def _behind(rows: Rows, method: str, datasets: Sequence[str]) -> float | None:
    """The mean distance to the most accurate method of each data set; None if the method was not run on all of them."""
    distances = _distances(rows, method, datasets)
    return statistics.fmean(distances.values()) if len(distances) == len(datasets) else None


def _farthest(rows: Rows, method: str, datasets: Sequence[str]) -> float:
    return max(_distances(rows, method, datasets).values())


def _distances(rows: Rows, method: str, datasets: Sequence[str]) -> Mapping[str, float]:
    return {
        dataset: max(row.figures.accuracy for row in rows[dataset].values()) - rows[dataset][method].figures.accuracy
        for dataset in datasets
        if method in rows.get(dataset, {})
    }
