"""The walk kernel in numba: bit-identical to the reference.

Whether a node is a neighbour of the node before is looked up only if the random number of the trial does not decide.
"""

from typing import Any

import numpy as np
from numba import njit

from mggcn.kernels._compiled import AnyInts, Ints, compiled
from mggcn.kernels.hashing import below, fold
from mggcn.kernels.pick.cpu import is_neighbour
from mggcn.kernels.walk.reference import END, FULL, TRIALS

_FULL = np.uint64(FULL)


@njit(inline="always")  # type: ignore[untyped-decorator]
def _weight(indptr: Any, indices: Any, symmetric: Any, before: Any, w: Any, back: Any, near: Any, away: Any) -> Any:
    if w == before:
        return back
    if near == away:
        return near
    return near if is_neighbour(indptr, indices, symmetric, before, w) else away


@njit  # type: ignore[untyped-decorator]
def _step(
    indptr: Any, indices: Any, symmetric: Any, before: Any, v: Any, back: Any, near: Any, away: Any, stream: Any, n: Any
) -> Any:
    """The node after v; n is the number of the first draw of this step."""
    start, stop = indptr[v], indptr[v + 1]
    lowest, size = min(back, near, away), np.uint64(stop - start)
    for trial in range(TRIALS):
        w = indices[start + below(fold(stream, n + 2 * trial), size)]
        if before < 0 or lowest == FULL:
            return w
        value = below(fold(stream, n + 2 * trial + 1), _FULL)
        if value < lowest or value < _weight(indptr, indices, symmetric, before, w, back, near, away):
            return w
    total = np.int64(0)
    for edge in range(start, stop):
        total += _weight(indptr, indices, symmetric, before, indices[edge], back, near, away)
    left = below(fold(stream, n + 2 * TRIALS), np.uint64(total))
    for edge in range(start, stop):
        left -= _weight(indptr, indices, symmetric, before, indices[edge], back, near, away)
        if left < 0:
            return indices[edge]
    return END


@compiled
def walk(
    indptr: Ints,
    indices: AnyInts,
    symmetric: bool,
    starts: Ints,
    back: int,
    near: int,
    away: int,
    key: np.uint64,
    out: AnyInts,
    start: int,
    stop: int,
) -> None:
    """Fill walks start … stop of ``out`` [len(starts), length]."""
    for row in range(start, stop):
        stream = fold(key, row)
        nodes = out[row]
        nodes[:] = END
        nodes[0] = starts[row]
        for step in range(nodes.size - 1):
            v = nodes[step]
            if indptr[v] == indptr[v + 1]:
                break
            before, number = nodes[step - 1] if step > 0 else END, step * (2 * TRIALS + 1)
            nodes[step + 1] = _step(indptr, indices, symmetric, before, v, back, near, away, stream, number)
