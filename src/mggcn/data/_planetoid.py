"""Cora, CiteSeer and PubMed from Planetoid's eight files each, under FastGCN's split or the public one.

The files are searched in the data root (``planetoid/<Name>/raw``), then fetched (:mod:`_planetoid_files`). Node
numbers are Planetoid's: first the rows of ``allx``, then the test nodes with the numbers in ``test.index``. In
CiteSeer 15 of these numbers are not used: nodes without features or label, in no part of a split.

The fallback for Cora is LINQS's original: ``cora.content`` (id, 1,433 words, class) and ``cora.cites`` (cited, citing).
It has no published split, so that a random one of FastGCN's sizes is drawn, and the data set's source says so.

Planetoid's files are Python 2 pickles, read by an unpickler that accepts six names and refuses all others, because a
pickle can call anything that it names. These files name parts of NumPy arrays, SciPy's CSR matrix and two containers.
The CSR matrix becomes an object with its fields only, so that no code of SciPy's own unpickling runs.
"""

import pickle
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from mggcn.data import _planetoid_files as planetoid_files
from mggcn.data._dataset import Dataset
from mggcn.data._features import csr_parts
from mggcn.data._split import UNLABELLED, Split
from mggcn.errors import InputError, first_line, prefix_errors
from mggcn.graph import Graph

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


def load(name: str, public: bool, root: Path | None, seed: int, _mmap: bool | None) -> Dataset:
    """Load ``cora``, ``citeseer`` or ``pubmed``; ``seed`` is only used if LINQS's Cora replaces Planetoid's.

    FastGCN's split trains on all nodes except 500 for validation and 1,000 for test; the ``public`` one on 20 of each
    class. The validation nodes follow the training nodes; the test nodes are the same.
    """
    files = planetoid_files.locate(name, root, allow_linqs=not public)
    if "cora.content" in files:
        return _read_linqs(files, seed)
    test = np.loadtxt(files[f"ind.{name}.test.index"], dtype=np.int64)
    endings = ("allx", "tx", "y", "ally", "ty", "graph")
    allx, tx, y_train, ally, ty, neighbours = (unpickle(files[f"ind.{name}.{ending}"]) for ending in endings)
    num_nodes, num_known = int(test.max()) + 1, allx.shape[0]
    nodes = np.concatenate([np.arange(num_known), test])  # of the rows of allx and tx; other nodes have zeros
    features = vstack([allx, tx]).tocoo()
    entries = (nodes[features.row], features.col)
    x = csr_array((features.data.astype(np.float32), entries), (num_nodes, features.shape[1]))
    one_hot = np.concatenate([ally, ty])
    y = np.full(num_nodes, UNLABELLED, dtype=np.int64)
    y[nodes] = np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), UNLABELLED)
    num_train = y_train.shape[0] if public else num_known - NUM_VAL
    split = Split(np.arange(num_train), np.arange(num_train, num_train + NUM_VAL), np.sort(test))
    sizes = "/".join(str(part.size) for part in split.parts().values())
    source = f"Planetoid ind.{name}.*; {'public' if public else 'FastGCN'} split {sizes}"
    title = f"{name}:public" if public else name
    return Dataset(title, _graph(neighbours, num_nodes), x, y, CLASSES[name], split, source=source)


def _graph(neighbours: dict[int, list[int]], num_nodes: int) -> Graph:
    lengths = [len(row) for row in neighbours.values()]
    source = np.repeat(np.array(list(neighbours), dtype=np.int64), lengths)
    target = np.array([node for row in neighbours.values() for node in row], dtype=np.int64)
    return Graph.from_edges(source, target, num_nodes)


def _read_linqs(files: Mapping[str, Path], seed: int) -> Dataset:
    papers = [line.split("\t") for line in files["cora.content"].read_text(encoding="ascii").splitlines()]
    ids = [int(paper[0]) for paper in papers]
    numbers = {paper: node for node, paper in enumerate(ids)}
    cited, citing = np.loadtxt(files["cora.cites"], dtype=np.int64, unpack=True).tolist()
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


class _Fields:
    """The fields of a pickled csr_matrix, as attributes."""


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("scipy.sparse.csr", "csr_matrix"): _Fields,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise InputError(f"pickle names {module}.{name}, which no data file needs; not read") from None

    def persistent_load(self, pid: Any) -> Any:
        raise InputError(f"pickle names the external object {pid!r}; not read")


def unpickle(path: Path) -> Any:
    """Read one pickle of arrays, CSR matrices (as :class:`csr_array`), lists and dictionaries."""
    with prefix_errors(path), path.open("rb") as file:
        try:
            value = _Unpickler(file, encoding="latin1").load()
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001 - a damaged pickle can raise almost anything
            raise InputError(f"not a readable pickle ({first_line(error)})") from None
        return _csr(vars(value)) if isinstance(value, _Fields) else value


def _csr(fields: dict[str, Any]) -> csr_array:
    try:
        data, indices, indptr = (np.asarray(fields[name]) for name in ("data", "indices", "indptr"))
        rows, columns = map(int, fields["_shape"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"pickled matrix lacks a part ({first_line(error)})") from None
    return csr_parts(data, indices, indptr, (rows, columns))
