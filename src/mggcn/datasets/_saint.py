"""GraphSAINT's layout: ``adj_full.npz``, ``feats.npy``, ``class_map.json`` and ``role.json``; Flickr and Reddit2."""

from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from mggcn.dataset import UNLABELLED, Dataset, Split, as_features, csr_parts, numbered_classes
from mggcn.datasets.npz import read_fields
from mggcn.errors import InputError, first_line, prefix_errors
from mggcn.files import read_json
from mggcn.graph import Graph

FILES = ("adj_full.npz", "feats.npy", "class_map.json", "role.json")
_Node = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class _Roles(msgspec.Struct):
    tr: list[_Node]
    va: list[_Node]
    te: list[_Node]


def read(folder: Path, name: str) -> Dataset:
    """Read a data set in GraphSAINT's layout."""
    adjacency, feats, class_map, role = (folder / file for file in FILES)
    x = _matrix(feats)
    num_nodes = x.shape[0]
    links = read_fields(adjacency, ("data", "indices", "indptr"))
    with prefix_errors(adjacency):
        matrix = csr_parts(links["data"], links["indices"], links["indptr"], (num_nodes, num_nodes)).tocoo()
        graph = Graph.from_edges(matrix.row, matrix.col, num_nodes)
    y = _labels(class_map, num_nodes)
    roles = read_json(role, _Roles)
    with prefix_errors(role):
        return Dataset(
            name=name,
            graph=graph,
            x=as_features(x),
            y=y,
            classes=numbered_classes(y),
            split=Split.of(roles.tr, roles.va, roles.te),
            inductive=True,
            source=f"{', '.join(FILES)} as PyG fetches them; GraphSAINT's split, inductive",
        )


def _matrix(path: Path) -> NDArray[Any]:
    try:
        x: NDArray[Any] = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
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
