"""GraphSAINT's layout: ``adj_full.npz``, ``feats.npy``, ``class_map.json`` and ``role.json``; Flickr and Reddit2."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.dataset import UNLABELLED, Dataset, Split, as_features
from mggcn.datasets.blame import blaming, reason
from mggcn.datasets.npz import read_fields
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.storage import csr_parts

FILES = ("adj_full.npz", "feats.npy", "class_map.json", "role.json")
_ROLES = ("tr", "va", "te")


def read(folder: Path, name: str) -> Dataset:
    """Read a data set in GraphSAINT's layout."""
    adjacency, feats, class_map, role = (folder / file for file in FILES)
    x = _matrix(feats)
    num_nodes = x.shape[0]
    links = read_fields(adjacency, ("data", "indices", "indptr"))
    with blaming(adjacency):
        matrix = csr_parts(links["data"], links["indices"], links["indptr"], (num_nodes, num_nodes)).tocoo()
        graph = Graph.from_edges(matrix.row, matrix.col, num_nodes)
    y = _labels(class_map, num_nodes)
    with blaming(role):
        nodes = _json(role)
        if not isinstance(nodes, dict) or not set(_ROLES) <= nodes.keys():
            raise InputError(f"fields {', '.join(_ROLES)} are needed")
        try:
            parts = [np.array(nodes[part], dtype=np.int64) for part in _ROLES]
        except (ValueError, TypeError, OverflowError):
            raise InputError("must list node numbers") from None
        return Dataset(
            name=name,
            graph=graph,
            x=as_features(x),
            y=y,
            classes=tuple(f"class {label}" for label in range(int(y.max()) + 1)),
            split=Split.of(*parts),
            inductive=True,
            source=f"{', '.join(FILES)} as PyG fetches them; GraphSAINT's split, inductive",
        )


def _matrix(path: Path) -> NDArray[Any]:
    try:
        x: NDArray[Any] = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"{path}: {reason(error)}") from None
    if x.ndim != 2 or x.dtype.kind not in "fiu":
        raise InputError(f"{path}: must be a matrix of numbers, not {x.dtype} of shape {x.shape}")
    return x


def _labels(path: Path, num_nodes: int) -> NDArray[np.int64]:
    y = np.full(num_nodes, UNLABELLED, dtype=np.int64)
    with blaming(path):
        labels = _json(path)
        if not isinstance(labels, dict):
            raise InputError("must map nodes to classes")
        for key, label in labels.items():
            if isinstance(label, list):
                raise InputError(f"node {key} has a list of labels; nodes with several labels are not supported")
            if not key.isdigit() or int(key) >= num_nodes:
                raise InputError(f"node {key!r} is out of range for {num_nodes} nodes")
            if not isinstance(label, int) or label < 0:
                raise InputError(f"node {key}: {label!r} is not a class number")
            y[int(key)] = label
    return y


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise InputError(f"not valid JSON ({reason(error)})") from None
