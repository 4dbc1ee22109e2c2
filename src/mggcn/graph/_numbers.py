"""Node numbers as users give them: a list, a range, an array, a tensor or a boolean mask."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mggcn.errors import InputError, first_line


def index_dtype(num_nodes: int) -> type[np.int32] | type[np.int64]:
    """The narrowest of int32 and int64 that holds every node number."""
    return np.int32 if num_nodes <= np.iinfo(np.int32).max else np.int64


def node_numbers(nodes: ArrayLike, num_nodes: int | None = None, field: str = "nodes") -> NDArray[np.int64]:
    """Convert node numbers or a boolean mask (a list, a range, an array or a tensor) to a vector of node numbers.

    A node may be listed more than once, but a vector of 0 and 1 as long as the graph is refused: it is a mask of
    integers. Numbers and length are checked if ``num_nodes`` is known. ``field`` is the name of the argument in errors.
    """
    vector = numbers_or_mask(nodes, field)
    if vector.dtype == bool:
        if num_nodes not in (None, vector.size):
            raise InputError(f"{field}: the mask has {vector.size} entries, but the graph has {num_nodes} nodes")
        return np.flatnonzero(vector)
    if num_nodes is not None:
        out_of_range = vector[(vector < 0) | (vector >= num_nodes)]
        if out_of_range.size:
            raise InputError(f"{field}: node {out_of_range[0]} is out of range for {num_nodes} nodes")
        if vector.size == num_nodes and vector.max(initial=0) <= 1 and np.unique(vector).size < vector.size:
            raise InputError(f"{field}: {num_nodes} values of 0 and 1 are a mask of integers; give a boolean mask")
    return vector.astype(np.int64, copy=False)


def numbers_or_mask(nodes: ArrayLike, field: str) -> NDArray[Any]:
    """Convert to a vector of integers or of booleans; InputError for everything else."""
    vector = as_array(nodes, field)
    if vector.shape == (0,) and vector.dtype != bool:
        return np.empty(0, np.int64)  # NumPy makes an empty list an array of floats
    if vector.dtype.kind not in "iub":
        kind = str(vector.dtype) if vector.ndim else type(nodes).__name__
        raise InputError(f"{field}: must be node numbers or a boolean mask, not {kind}")
    if vector.ndim != 1:
        raise InputError(f"{field}: must be one-dimensional, not of shape {vector.shape}")
    return vector


def as_array(values: ArrayLike, field: str) -> NDArray[Any]:
    """Convert a list or a tensor to an array; InputError for what NumPy cannot convert."""
    try:
        return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
    except (TypeError, ValueError, RuntimeError) as error:  # a ragged list, or a tensor of a type NumPy does not have
        raise InputError(f"{field}: {type(values).__name__} is not an array ({first_line(error)})") from None
