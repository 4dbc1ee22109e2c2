"""Dropout in numba: a row's hashes first, two columns each, then its values; both loops use vector instructions."""

from typing import Any

import numpy as np
from numba import njit

from mggcn.kernels._compiled import AnyInts, Floats, compiled
from mggcn.kernels.hashing import fold

_ONE, _LOW, _S32 = np.uint64(1), np.uint64(0xFFFFFFFF), np.uint64(32)


@compiled
def dense(
    x: Floats,
    nodes: AnyInts,
    key: np.uint64,
    limit: np.uint32,
    scale: np.float32,
    out: Floats,
    start: int,
    stop: int,
) -> None:
    """Fill rows start … stop of ``out`` with the rows of x after dropout."""
    width = x.shape[1]
    hashes = np.empty((width + 1) // 2, np.uint64)
    draws = hashes.view(np.uint32)
    for row in range(start, stop):
        stream = fold(key, nodes[row])
        for pair in range(hashes.size):
            hashes[pair] = fold(stream, pair)
        x_row, out_row = x[row], out[row]
        for c in range(width):
            out_row[c] = scale * x_row[c] if draws[c] >= limit else np.float32(0)


@njit(inline="always")  # type: ignore[untyped-decorator]
def _is_kept(stream: Any, column: Any, limit: Any) -> Any:
    draw = fold(stream, column >> 1) >> (_S32 * (np.uint64(column) & _ONE))
    return (draw & _LOW) >= limit


@compiled
def count(
    indptr: AnyInts,
    indices: AnyInts,
    nodes: AnyInts,
    key: np.uint64,
    limit: np.uint32,
    out: AnyInts,
    start: int,
    stop: int,
) -> None:
    """Fill elements 1 + start … 1 + stop of ``out`` with the number of kept entries of each row."""
    for row in range(start, stop):
        stream, kept = fold(key, nodes[row]), 0
        for entry in range(indptr[nodes[row]], indptr[nodes[row] + 1]):
            kept += _is_kept(stream, indices[entry], limit)
        out[row + 1] = kept


@compiled
def fill(
    indptr: AnyInts,
    indices: AnyInts,
    data: Floats,
    nodes: AnyInts,
    key: np.uint64,
    limit: np.uint32,
    scale: np.float32,
    out_indptr: AnyInts,
    out_indices: AnyInts,
    out: Floats,
    start: int,
    stop: int,
) -> None:
    """Fill the columns and values of the kept entries of rows start … stop."""
    for row in range(start, stop):
        stream, position = fold(key, nodes[row]), out_indptr[row]
        for entry in range(indptr[nodes[row]], indptr[nodes[row] + 1]):
            if _is_kept(stream, indices[entry], limit):
                out_indices[position], out[position] = indices[entry], scale * data[entry]
                position += 1
