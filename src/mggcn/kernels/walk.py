"""Random walks over a graph: the uniform walks of DeepWalk and GraphSAINT, the second-order walks of node2vec.

From v, reached from t, node2vec goes to a neighbour w of v in proportion to 1/p if w is t, to 1 if w is a neighbour of
t, and to 1/q otherwise; the first step is uniform, and p = q = 1 is DeepWalk's uniform walk. A neighbour is drawn
uniformly and accepted in proportion to its weight. After ``TRIALS`` rejections the weights are summed and one neighbour
is drawn by weight; trials are independent, so the walk is still exact.

Weights are integers, the largest is ``FULL``. Every draw is a hash of the key, the walk's number, the step and the
trial. Whether w is a neighbour of t is looked up only if the random number of the trial does not decide.

GraphSAINT's walks start at random roots, and one that reaches a node without neighbours stays there; every draw is a
hash of (key, walk, step), and step 0 draws the root.
"""

from functools import partial

import numpy as np
from numba import njit

from mggcn.graph import Graph
from mggcn.kernels import threads as threading
from mggcn.kernels._compiled import AnyInts, Ints, below, compiled, fold
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
    shares = (1 / p, 1.0, 1 / q)  # of returning, of a neighbour of the node before, and of all others
    back, near, away = (max(1, round(FULL * (share / max(shares)))) for share in shares)
    out = np.empty((starts.size, length), graph.indices.dtype)
    arrays = (graph.indptr, graph.indices, graph.is_symmetric, starts, back, near, away)
    fill = partial(_walk, *arrays, np.uint64(key.value), out)
    threading.over_ranges(fill, starts.size, chunk=1024, threads=threads)
    return out


@njit(inline="always")
def _weight(indptr, indices, symmetric, before, w, back, near, away):
    if w == before:
        return back
    if near == away:
        return near
    return near if is_neighbour(indptr, indices, symmetric, before, w) else away


@njit
def _step(indptr, indices, symmetric, before, v, back, near, away, stream, n):
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
def _walk(indptr, indices, symmetric, starts, back, near, away, key, out, start, stop):
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


def visited(graph: Graph, pool: Ints, walks: int, length: int, key: Key) -> Ints:
    """The distinct nodes of ``walks`` uniform walks of ``length`` steps along the rows of a graph, in ascending order.

    Roots are drawn uniformly from the pool, with replacement.
    """
    paths = np.empty((walks, 1 + length), np.int64)
    fill_walks(graph.indptr, graph.indices, pool, np.uint64(key.value), paths)
    member = np.zeros(graph.num_nodes, bool)
    member[paths] = True
    return np.flatnonzero(member)


@compiled
def fill_walks(indptr, indices, pool, key, out):
    """Fill ``out`` [walks, 1 + length] with the nodes of each walk."""
    for number in range(out.shape[0]):
        stream = fold(key, number)
        node = pool[below(fold(stream, 0), np.uint64(pool.size))]
        out[number, 0] = node
        for step in range(1, out.shape[1]):
            size = indptr[node + 1] - indptr[node]
            if size > 0:
                node = np.int64(indices[indptr[node] + below(fold(stream, step), np.uint64(size))])
            out[number, step] = node
