"""Random walks over a graph: the uniform walks of DeepWalk and the second-order walks of node2vec.

From v, reached from t, node2vec goes to a neighbour w of v in proportion to 1/p if w is t, to 1 if w is a neighbour of
t, and to 1/q otherwise; the first step is uniform, and p = q = 1 is DeepWalk's uniform walk. A neighbour is drawn
uniformly and accepted in proportion to its weight. After ``TRIALS`` rejections the weights are summed and one neighbour
is drawn by weight; trials are independent, so the walk is still exact.

Weights are integers, the largest is ``FULL``. Every draw is a hash of the key, the walk's number, the step and the
trial. Whether w is a neighbour of t is looked up only if the random number of the trial does not decide.
"""

import math
from functools import partial
from typing import Any

import numpy as np
from numba import njit

from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels import threads as threading
from mggcn.kernels._compiled import AnyInts, Ints, compiled
from mggcn.kernels.hashing import below, fold
from mggcn.kernels.pick import is_neighbour
from mggcn.keys import Key

TRIALS = 16
FULL = 1 << 32
END = -1

_FULL = np.uint64(FULL)


def walk(
    graph: Graph, starts: Ints, length: int, key: Key, *, p: float = 1.0, q: float = 1.0, threads: int | None = None
) -> AnyInts:
    """Start a random walk at every start node.

    Args:
        graph: to walk on.
        starts: [n] nodes.
        length: the number of nodes of a walk.
        key: of the draws; walk number i does not depend on the other walks.
        p: node2vec's return parameter: the smaller it is, the more often a walk returns to the node before.
        q: node2vec's in-out parameter: the smaller it is, the further a walk moves away; p = q = 1 is the uniform walk.
        threads: all cores when None; the walks do not depend on it.

    Returns:
        [n, length] nodes, the start first. A walk ends at a node without neighbours; the rest of its row is ``END``.
    """
    if length < 1:
        raise InputError(f"length: {length} is less than 1")
    for name, value in (("p", p), ("q", q)):
        if not (math.isfinite(value) and value > 0):
            raise InputError(f"{name}: {value} is not a positive number")
    out = np.empty((starts.size, length), graph.indices.dtype)
    arrays = (graph.indptr, graph.indices, graph.direction == "both", starts, *_integer_weights(p, q))
    fill = partial(_walk, *arrays, np.uint64(key.value), out)
    threading.over_ranges(fill, starts.size, chunk=1024, threads=threads)
    return out


def _integer_weights(p: float, q: float) -> tuple[int, int, int]:
    """The weights of returning, of a neighbour of the node before, and of all others; the largest is ``FULL``."""
    weights = (1 / p, 1.0, 1 / q)
    back, near, away = (max(1, round(FULL * (weight / max(weights)))) for weight in weights)
    return back, near, away


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
def _walk(
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
