"""Raw files of PyG's large data sets: Reddit, and GraphSAINT's layout of Flickr and Reddit2; splits are inductive."""

from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from mggcn._io.files import check_npy, read_json
from mggcn.data._dataset import Dataset
from mggcn.data._features import as_features, csr_parts
from mggcn.data._labels import numbered_classes
from mggcn.data._npz import read_fields
from mggcn.data._split import UNLABELLED, Split
from mggcn.errors import ARRAY_ERRORS, InputError, first_line, prefix_errors
from mggcn.graph import Graph

REDDIT_FILES = ("reddit_data.npz", "reddit_graph.npz")
SAINT_FILES = ("adj_full.npz", "feats.npy", "class_map.json", "role.json")
_Node = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class _Roles(msgspec.Struct):
    tr: list[_Node]
    va: list[_Node]
    te: list[_Node]


def read_reddit(folder: Path, name: str) -> Dataset:
    """Read ``reddit_data.npz`` (feature, label, node_types) and ``reddit_graph.npz`` (row, col)."""
    data_file, graph_file = (folder / file for file in REDDIT_FILES)
    data = read_fields(data_file, ("feature", "label", "node_types"))
    ends = read_fields(graph_file, ("row", "col"))
    y, types = data["label"].astype(np.int64), data["node_types"]
    with prefix_errors(graph_file):
        graph = Graph.from_edges(ends["row"], ends["col"], y.size)
    with prefix_errors(data_file):
        if types.shape != (y.size,):
            raise InputError(f"node_types: shape {types.shape} for {y.size} labels")
        split = Split(*(np.flatnonzero(types == number) for number in (1, 2, 3)))  # train, val, test
        source = f"{' and '.join(REDDIT_FILES)} as PyG's Reddit fetches them; published split, inductive"
        x = as_features(data["feature"])
        return Dataset(name, graph, x, y, numbered_classes(y), split, inductive=True, source=source)


def read_saint(folder: Path, name: str) -> Dataset:
    """Read a data set in GraphSAINT's layout."""
    adjacency, feats, class_map, role = (folder / file for file in SAINT_FILES)
    x = _matrix(feats)
    num_nodes = x.shape[0]
    links = read_fields(adjacency, ("data", "indices", "indptr"))
    with prefix_errors(adjacency):
        matrix = csr_parts(links["data"], links["indices"], links["indptr"], (num_nodes, num_nodes)).tocoo()
        graph = Graph.from_edges(matrix.row, matrix.col, num_nodes)
    y = _labels(class_map, num_nodes)
    roles = read_json(role, _Roles)
    with prefix_errors(role):
        split = Split.of(roles.tr, roles.va, roles.te)
        source = f"{', '.join(SAINT_FILES)} as PyG fetches them; GraphSAINT's split, inductive"
        return Dataset(name, graph, as_features(x), y, numbered_classes(y), split, inductive=True, source=source)


def _matrix(path: Path) -> NDArray[Any]:
    try:
        check_npy(path)
        x: NDArray[Any] = np.load(path, allow_pickle=False)
    except ARRAY_ERRORS as error:
        raise InputError(f"{path}: {first_line(error)}") from None
    if x.ndim != 2 or x.dtype.kind not in "fiu":
        raise InputError(f"{path}: must be a matrix of numbers, not {x.dtype} of shape {x.shape}")
    return x


def _labels(path: Path, num_nodes: int) -> NDArray[np.int64]:
    y = np.full(num_nodes, UNLABELLED, dtype=np.int64)
    labels = read_json(path, dict[str, Any])
    with prefix_errors(path):
        for key, label in labels.items():
            if isinstance(label, list):
                raise InputError(f"node {key} has a list of labels; nodes with several labels are not supported")
            if not key.isdigit() or int(key) >= num_nodes:
                raise InputError(f"node {key!r} is out of range for {num_nodes} nodes")
            if not isinstance(label, int) or label < 0:
                raise InputError(f"node {key}: {label!r} is not a class number")
            y[int(key)] = label
    return y
