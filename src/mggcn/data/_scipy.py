"""SciPy's sparse adjacency matrices as data sets."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, issparse

from mggcn.data._dataset import Dataset
from mggcn.data._from_arrays import from_arrays, ignored_edge_data
from mggcn.data._objects import refused
from mggcn.data._split import NO_SPLIT, PARTS, Split
from mggcn.errors import InputError, prefix_errors
from mggcn.graph import Direction, as_array, node_numbers


def from_scipy(
    adjacency: Any,
    x: Any,
    y: ArrayLike | None,
    name: str,
    classes: Iterable[Any] | None,
    split: Split | Sequence[ArrayLike | None] | None,
    seed: int | None,
    direction: Direction | None,
    **fields: Any,
) -> Dataset:
    """See :meth:`mggcn.data.Dataset.from_scipy`."""
    if not issparse(adjacency):
        raise refused(adjacency, "from_scipy takes a sparse matrix of SciPy")
    with prefix_errors(name):
        edge_index, is_weighted = edges_of(adjacency, "adjacency")
        num_nodes = adjacency.shape[0]
        return from_arrays(
            name,
            num_nodes,
            edge_index,
            x,
            y=None if y is None else as_array(y, "y"),
            classes=classes,
            parts=_parts(split, num_nodes),
            seed=seed,
            direction=direction,
            notes=ignored_edge_data(["values"] * is_weighted, "adjacency"),
            stacklevel=4,
            **fields,
        )


def edges_of(matrix: Any, field: str) -> tuple[NDArray[Any], bool]:
    """Return the [2, E] rows and columns of the values other than 0, and whether one of them is not 1."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"{field}: must be square, not of shape {list(matrix.shape)}")
    entries = coo_array(matrix)
    kept = entries.data != 0
    rows, columns = entries.coords
    return np.stack([rows[kept], columns[kept]]), bool((entries.data[kept] != 1).any())


def _parts(split: Split | Sequence[ArrayLike | None] | None, num_nodes: int) -> Sequence[NDArray[np.int64] | None]:
    if split is None:
        return NO_SPLIT
    parts = list(split.parts().values()) if isinstance(split, Split) else split
    if not isinstance(parts, list | tuple) or len(parts) != len(PARTS):
        raise InputError(
            "split: must be a Split or the nodes of train, val and test, None for a part that is not known"
        )
    return [
        None if nodes is None else node_numbers(nodes, num_nodes, f"split: {part}")
        for part, nodes in zip(PARTS, parts, strict=True)
    ]
