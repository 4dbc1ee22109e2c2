"""Dropout in numba: the hashes of a row first, in a loop that uses vector instructions, then its values."""

from typing import Any

import numpy as np
from numba import njit

from mggcn.kernels._compiled import AnyInts, Floats, Ints, compiled
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
def keep(
    indptr: AnyInts,
    indices: AnyInts,
    data: Floats,
    nodes: AnyInts,
    key: np.uint64,
    limit: np.uint32,
    scale: np.float32,
    starts: Ints,
    kept_indices: AnyInts,
    kept: Floats,
    counts: AnyInts,
    start: int,
    stop: int,
) -> None:
    """Write the kept entries of rows start … stop from ``starts`` on, and count them.

    Every entry is written, and the next one overwrites a dropped one: a branch would be mispredicted too often.
    """
    for row in range(start, stop):
        stream, first, count = fold(key, nodes[row]), starts[row], 0
        begin, end = indptr[nodes[row]], indptr[nodes[row] + 1]
        columns, values, is_kept = indices[begin:end], data[begin:end], np.empty(end - begin, np.uint8)
        for i in range(columns.size):
            is_kept[i] = _is_kept(stream, columns[i], limit)
        for i in range(columns.size):
            kept_indices[first + count], kept[first + count] = columns[i], scale * values[i]
            count += is_kept[i]
        counts[row] = count


@compiled
def pack(
    starts: Ints,
    kept_indices: AnyInts,
    kept: Floats,
    indptr: AnyInts,
    indices: AnyInts,
    data: Floats,
    start: int,
    stop: int,
) -> None:
    """Copy the kept entries of rows start … stop, which begin at ``starts``, to where ``indptr`` has them begin."""
    for row in range(start, stop):
        source, target = starts[row], indptr[row]
        for i in range(indptr[row + 1] - target):
            indices[target + i], data[target + i] = kept_indices[source + i], kept[source + i]
