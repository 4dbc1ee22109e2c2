"""Cora, CiteSeer and PubMed from Planetoid's eight files each, under FastGCN's split or the public one.

The files are searched in the data root (``planetoid/<Name>/raw``), then fetched (:mod:`_planetoid_files`). Node
numbers are Planetoid's: first the rows of ``allx``, then the test nodes with the numbers in ``test.index``. In
CiteSeer 15 of these numbers are not used: nodes without features or label, in no part of a split.
"""

from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mggcn.dataset import UNLABELLED, Dataset, Split
from mggcn.datasets import _linqs as linqs
from mggcn.datasets import _planetoid_files as planetoid_files
from mggcn.datasets import _unpickle as unpickle
from mggcn.errors import InputError, prefix_errors
from mggcn.graph import Graph

SplitName = Literal["fastgcn", "public"]

SPLITS: dict[str, SplitName] = {"": "fastgcn", ":public": "public"}
NUM_VAL = 500
# The order for Cora and CiteSeer follows from LINQS's class sizes, which all differ; PubMed's is not certain.
_CLASSES = {
    "cora": linqs.CLASSES,
    "citeseer": ("AI", "ML", "IR", "DB", "Agents", "HCI"),
    "pubmed": ("class 0", "class 1", "class 2"),
}


def load(name: str, split: SplitName, root: Path | None, seed: int, _mmap: bool) -> Dataset:
    """Load ``cora``, ``citeseer`` or ``pubmed``.

    Args:
        name: which of the three.
        split: ``fastgcn`` trains on all nodes except 500 for validation and 1,000 for test; ``public`` on 20 of each
            class. The validation nodes follow the training nodes; the test nodes are the same.
        root: the data root; see :mod:`mggcn.datasets.root`.
        seed: of the random split, only if LINQS's Cora replaces Planetoid's.
    """
    files = planetoid_files.locate(name, root, allow_linqs=split == "fastgcn")
    if isinstance(files, Path):
        return linqs.read_cora(files, seed=seed)
    test = _test_index(files["test.index"])
    matrices = {ending: unpickle.read(files[ending]) for ending in ("x", "tx", "allx", "y", "ty", "ally", "graph")}
    if matrices["tx"].shape[0] != test.size or matrices["ty"].shape[0] != test.size:
        raise InputError(f"{files['tx']}: {matrices['tx'].shape[0]} rows for {test.size} test nodes")
    num_nodes = int(test.max()) + 1
    with prefix_errors(files["graph"]):
        graph = _graph(matrices["graph"], num_nodes)
    num_train = matrices["y"].shape[0] if split == "public" else matrices["allx"].shape[0] - NUM_VAL
    parts = Split(np.arange(num_train), np.arange(num_train, num_train + NUM_VAL), np.sort(test))
    sizes = "/".join(str(nodes.size) for nodes in parts.parts().values())
    return Dataset(
        name=name if split == "fastgcn" else f"{name}:{split}",
        graph=graph,
        x=_stack(matrices["allx"], matrices["tx"], test, num_nodes),
        y=_labels(matrices["ally"], matrices["ty"], test, num_nodes),
        classes=_CLASSES[name],
        split=parts,
        source=f"Planetoid ind.{name}.*; {'FastGCN' if split == 'fastgcn' else 'public'} split {sizes}",
    )


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


def _stack(known: csr_array, test: csr_array, index: NDArray[np.int64], num_nodes: int) -> csr_array:
    """Stack the features in node order; nodes that are in neither matrix have zeros."""
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
