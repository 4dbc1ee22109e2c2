"""Cora, CiteSeer and PubMed from Planetoid's eight files each, under FastGCN's split or the public one.

The files are looked for in the data root (``planetoid/<Name>/raw``), then fetched (:mod:`planetoid_files`). Node
numbers are Planetoid's: first the rows of ``allx``, then the test nodes at the places ``test.index`` gives. CiteSeer
leaves 15 places between the test nodes empty: nodes without features or label, in no part of a split.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mggcn.dataset import UNLABELLED, Dataset, Split
from mggcn.datasets import linqs, planetoid_files, unpickle
from mggcn.datasets.blame import blaming
from mggcn.errors import InputError
from mggcn.graph import Graph

SplitName = Literal["fastgcn", "public"]

NUM_VAL = 500
# LINQS's class sizes, all different, tell Cora's and CiteSeer's order; PubMed's is not known for certain.
_CLASSES = {
    "cora": linqs.CLASSES,
    "citeseer": ("AI", "ML", "IR", "DB", "Agents", "HCI"),
    "pubmed": ("class 0", "class 1", "class 2"),
}


def load(name: str, *, split: SplitName = "fastgcn", root: Path | None = None, seed: int = 0) -> Dataset:
    """Load ``cora``, ``citeseer`` or ``pubmed``.

    Args:
        name: which of the three.
        split: ``fastgcn`` trains on every node but 500 for validation and the 1,000 for test; ``public`` on 20 of each
            class. Validation follows the training nodes, test is the same.
        root: the data root; see :mod:`mggcn.datasets.root`.
        seed: of the random split, only where LINQS's Cora stands in for Planetoid's.
    """
    found = planetoid_files.locate(name, root, linqs_will_do=split == "fastgcn")
    if isinstance(found, Path):
        return linqs.read_cora(found, seed=seed)
    raw = _read(found)
    train, val = _train_val(raw, split)
    parts = Split.of(train, val, np.sort(raw.test))
    sizes = "/".join(str(part.size) for part in (parts.train, parts.val, parts.test))
    return Dataset(
        name=name if split == "fastgcn" else f"{name}:{split}",
        graph=raw.graph,
        x=raw.x,
        y=raw.y,
        classes=_CLASSES[name],
        split=parts,
        source=f"Planetoid ind.{name}.*; {'FastGCN' if split == 'fastgcn' else 'public'} split {sizes}",
    )


@dataclass(frozen=True)
class _Raw:
    graph: Graph
    x: csr_array
    y: NDArray[np.int64]
    test: NDArray[np.int64]
    num_public: int
    num_known: int


def _read(files: dict[str, Path]) -> _Raw:
    test = _test_index(files["test.index"])
    parts = {key: unpickle.read(files[key]) for key in ("x", "tx", "allx", "y", "ty", "ally", "graph")}
    num_known, num_nodes = parts["allx"].shape[0], int(test.max()) + 1
    with blaming(files["graph"]):
        graph = _graph(parts["graph"], num_nodes)
    if parts["tx"].shape[0] != test.size or parts["ty"].shape[0] != test.size:
        raise InputError(f"{files['tx']}: {parts['tx'].shape[0]} rows for {test.size} test nodes")
    return _Raw(
        graph=graph,
        x=_place(parts["allx"], parts["tx"], test, num_nodes),
        y=_labels(parts["ally"], parts["ty"], test, num_nodes),
        test=test,
        num_public=parts["y"].shape[0],
        num_known=num_known,
    )


def _train_val(raw: _Raw, split: SplitName) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    stop = raw.num_public if split == "public" else raw.num_known - NUM_VAL
    return np.arange(stop), np.arange(stop, stop + NUM_VAL)


def _test_index(path: Path) -> NDArray[np.int64]:
    try:
        return np.array(path.read_text(encoding="ascii").split(), dtype=np.int64)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def _graph(neighbours: dict[int, list[int]], num_nodes: int) -> Graph:
    lengths = [len(row) for row in neighbours.values()]
    source = np.repeat(np.array(list(neighbours), dtype=np.int64), lengths)
    target = np.array([node for row in neighbours.values() for node in row], dtype=np.int64)
    return Graph.from_edges(source, target, num_nodes)


def _place(known: csr_array, test: csr_array, index: NDArray[np.int64], num_nodes: int) -> csr_array:
    """Stack the features in node order; nodes that neither matrix holds stay zero."""
    upper, lower = known.tocoo(), test.tocoo()
    rows = np.concatenate([upper.row.astype(np.int64), index[lower.row]])
    columns = np.concatenate([upper.col, lower.col])
    data = np.concatenate([upper.data, lower.data]).astype(np.float32)
    return csr_array((data, (rows, columns)), shape=(num_nodes, known.shape[1]))


def _labels(known: Any, test: Any, index: NDArray[np.int64], num_nodes: int) -> NDArray[np.int64]:
    """Class numbers from one-hot rows; a node without a row, or with an empty one, is unlabelled."""
    y = np.full(num_nodes, UNLABELLED, dtype=np.int64)
    for rows, one_hot in ((np.arange(len(known)), known), (index, test)):
        y[rows] = np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), UNLABELLED)
    return y
