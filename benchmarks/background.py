"""What a class of unlabelled accounts costs and gains, on a simulated chain where the class of every account is known.

Half of the training labels are hidden among the unlabelled accounts. Training with all labels is compared with four
ways to train without the hidden ones, by the area under the precision-recall curve (average precision) on accounts that
no training saw: members of the classes, and others with similar degrees.

``python benchmarks/background.py --scale 1 --method mg-gcn``
"""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from cyclopts import run
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

import mggcn
from mggcn.data._background import BACKGROUND, draw_background
from mggcn.data._dataset import Dataset
from mggcn.data._split import UNLABELLED, Split
from mggcn.ethereum import BuildInputs, build, simulate

_TEST_SHARE, _HIDDEN_SHARE = 0.3, 0.5
_SHARES = (0.8, 0.1, 0.1)  # of train, val and test among the accounts that training may see


def main(scale: float = 1.0, method: str = "mg-gcn", background: int = 2000, seeds: int = 1) -> None:
    """Simulate, hide labels, train, and print a table.

    Args:
        scale: of the chain; 1 is the size of the paper's data.
        method: the method to train.
        background: the number of unlabelled accounts in the class Background.
        seeds: the number of runs of each kind, whose means are printed.
    """
    with tempfile.TemporaryDirectory() as folder:
        chain, labels = Path(folder, "chain.parquet"), Path(folder, "labels.csv")
        simulate(chain, labels=labels, scale=scale)
        data = build(BuildInputs((chain,)), Path(folder, "accounts"), labels=labels).dataset
        rng = np.random.default_rng(0)
        members, indptr = np.flatnonzero(data.y != UNLABELLED), data.graph.indptr
        tested, known, hidden = _divide(rng.permutation(members))
        others = draw_background(indptr, members, background, seed=0)
        compared = np.setdiff1d(draw_background(indptr, members, 4 * background, seed=1), others)
        nodes = np.concatenate([tested, compared])
        print(f"{data.num_nodes:,} accounts, {known.size} known and {hidden.size} hidden members")  # noqa: T201
        print(f"tested on {tested.size} members and {compared.size:,} others\n")  # noqa: T201
        print("| trained with | mean over classes | of all labels | Phish | of all labels |")  # noqa: T201
        print("|---|---:|---:|---:|---:|")  # noqa: T201
        best = None
        for name, y, settings in _ways(data, known, hidden, others):
            figures = [_average_precision(data, y, nodes, method, settings, seed) for seed in range(seeds)]
            mean = np.mean(figures, axis=0)
            shown = np.array([mean.mean(), mean[data.classes.index("Phish")]])
            best = shown if best is None else best
            cells = [f"{value:.3f} | {value / most:.1%}" for value, most in zip(shown, best, strict=True)]
            print(f"| {name} |", " | ".join(cells), "|", flush=True)  # noqa: T201


def _divide(members: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Members to test, with known labels, and with hidden labels."""
    first = round(_TEST_SHARE * members.size)
    return np.split(members, [first, first + round((1 - _HIDDEN_SHARE) * (members.size - first))])


def _ways(
    data: Dataset, known: NDArray[np.int64], hidden: NDArray[np.int64], others: NDArray[np.int64]
) -> Iterator[tuple[str, NDArray[np.int64], dict[str, object]]]:
    """The labels of each way to train, and its settings."""
    y = np.full_like(data.y, UNLABELLED)
    y[known] = data.y[known]
    y[others] = data.num_classes
    complete = y.copy()
    complete[hidden] = data.y[hidden]
    yield "all labels", complete, {}
    yield "known labels, no hidden members in Background", y, {}
    mixed = y.copy()
    mixed[hidden] = data.num_classes
    yield "known labels, hidden members in Background", mixed, {}
    prior: dict[str, object] = {"background_prior": hidden.size / (hidden.size + others.size)}
    yield "the same with background_prior", mixed, prior
    yield "the same with background_risk=non-negative", mixed, prior | {"background_risk": "non-negative"}


def _average_precision(
    data: Dataset, y: NDArray[np.int64], nodes: NDArray[np.int64], method: str, settings: dict[str, object], seed: int
) -> list[float]:
    """The average precision of each class among nodes that training did not see."""
    split = Split.stratified(y, seed, _SHARES)
    opened = replace(data, y=y, classes=(*data.classes, BACKGROUND), split=split)
    trained = mggcn.fit(opened, method, seed=seed, settings=settings)
    p = trained.predict(opened, nodes).probabilities
    return [float(average_precision_score(data.y[nodes] == label, p[:, label])) for label in range(data.num_classes)]


if __name__ == "__main__":
    run(main)
