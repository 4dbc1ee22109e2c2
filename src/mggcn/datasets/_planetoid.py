"""Cora, CiteSeer and PubMed from Planetoid's eight files each, under FastGCN's split or the public one.

The files are searched in the data root (``planetoid/<Name>/raw``), then fetched (:mod:`_planetoid_files`). Node
numbers are Planetoid's: first the rows of ``allx``, then the test nodes with the numbers in ``test.index``. In
CiteSeer 15 of these numbers are not used: nodes without features or label, in no part of a split.

The fallback for Cora is LINQS's original: ``cora.content`` (id, 1,433 words, class) and ``cora.cites`` (cited, citing).
It has no published split, so that a random one of FastGCN's sizes is drawn, and the data set's source says so.
"""

from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mggcn.dataset import UNLABELLED, Dataset, Split
from mggcn.datasets import _planetoid_files as planetoid_files
from mggcn.datasets import _unpickle as unpickle
from mggcn.errors import prefix_errors
from mggcn.graph import Graph

SplitName = Literal["fastgcn", "public"]
SPLITS: dict[str, SplitName] = {"": "fastgcn", ":public": "public"}
NUM_VAL = 500
LINQS_SIZES = (1208, 500, 1000)
# The order for Cora and CiteSeer follows from LINQS's class sizes, which all differ; PubMed's is not certain.
CLASSES = {
    "cora": (
        *("Theory", "Reinforcement_Learning", "Genetic_Algorithms", "Neural_Networks"),
        *("Probabilistic_Methods", "Case_Based", "Rule_Learning"),
    ),
    "citeseer": ("AI", "ML", "IR", "DB", "Agents", "HCI"),
    "pubmed": ("class 0", "class 1", "class 2"),
}


def load(name: str, split: SplitName, root: Path | None, seed: int, _mmap: bool) -> Dataset:
    """Load ``cora``, ``citeseer`` or ``pubmed``; ``seed`` is only used if LINQS's Cora replaces Planetoid's.

    The split ``fastgcn`` trains on all nodes except 500 for validation and 1,000 for test; ``public`` on 20 of each
    class. The validation nodes follow the training nodes; the test nodes are the same.
    """
    files = planetoid_files.locate(name, root, allow_linqs=split == "fastgcn")
    if isinstance(files, Path):
        return _read_linqs(files, seed)
    test = np.loadtxt(files["test.index"], dtype=np.int64)
    matrices = {ending: unpickle.read(files[ending]) for ending in ("x", "tx", "allx", "y", "ty", "ally", "graph")}
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
        classes=CLASSES[name],
        split=parts,
        source=f"Planetoid ind.{name}.*; {'FastGCN' if split == 'fastgcn' else 'public'} split {sizes}",
    )


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


def _read_linqs(folder: Path, seed: int) -> Dataset:
    papers = [line.split("\t") for line in (folder / "cora.content").read_text(encoding="ascii").splitlines()]
    ids = [int(paper[0]) for paper in papers]
    numbers = {paper: node for node, paper in enumerate(ids)}
    cited, citing = np.loadtxt(folder / "cora.cites", dtype=np.int64, unpack=True).tolist()
    order = np.random.default_rng(seed).permutation(len(ids))
    train, val, test = (np.sort(part) for part in np.split(order, np.cumsum(LINQS_SIZES))[:3])
    return Dataset(
        name="cora",
        graph=Graph.from_edges([numbers[paper] for paper in citing], [numbers[paper] for paper in cited], len(ids)),
        x=csr_array(np.stack([np.array(paper[1:-1], dtype=np.float32) for paper in papers])),
        y=np.array([CLASSES["cora"].index(paper[-1]) for paper in papers], dtype=np.int64),
        classes=CLASSES["cora"],
        split=Split(train, val, test),
        node_ids=np.array(ids, dtype=np.int64),
        source=f"LINQS cora.content and cora.cites; random split {'/'.join(map(str, LINQS_SIZES))} of seed {seed}, "
        "not the published one",
    )
