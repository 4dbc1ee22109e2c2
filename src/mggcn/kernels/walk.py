"""Random walks over a graph: the walks of DeepWalk and GraphSAINT, the second-order walks of node2vec.

From v, reached from t, node2vec goes to a neighbour w of v in proportion to 1/p if w is t, to 1 if w is a neighbour of
t, and to 1/q otherwise, times the weight of the edge if walks are by weight; the first step has no such bias, and with
p = q = 1 no step has. A neighbour is drawn uniformly, or by weight, and accepted in proportion to its bias. After
``TRIALS`` rejections the biases are summed and one neighbour is drawn from the list; trials are independent, so the
walk is still exact.

Biases are integers, the largest is ``FULL``. Every draw is a hash of the key, the walk's number, the step and the
trial. Whether w is a neighbour of t is looked up only if the random number of the trial does not decide.

By weight, a neighbour is found by its running sum, see :class:`mggcn.kernels.pick.RunningSums`, so that the cost of a
trial does not depend on the degree. From the list, first one of the three biases is drawn in proportion to the bias
times the weight of its neighbours, in float64, whose rounding changes a probability by less than 2^-50; then one of
these neighbours by weight, in integers.

GraphSAINT's walks start at random roots, and one that reaches a node without neighbours stays there; every draw is a
hash of (key, walk, step), and step 0 draws the root.
"""

from functools import partial

import numpy as np
from numba import njit

from mggcn.graph import Graph
from mggcn.kernels import threads as threading
from mggcn.kernels._compiled import AnyInts, Ints, below, compiled, fold
from mggcn.kernels.pick import entry_at, is_neighbour
from mggcn.keys import Key

TRIALS = 16
FULL = 1 << 32
END = -1

_FULL = np.uint64(FULL)


def walk(
    graph: Graph,
    starts: Ints,
    length: int,
    key: Key,
    *,
    p: float = 1.0,
    q: float = 1.0,
    sums: AnyInts | None = None,
    threads: int | None = None,
) -> AnyInts:
    """Start a random walk at every start node.

    Args:
        graph: to walk on.
        starts: [n] nodes.
        length: the number of nodes of a walk.
        key: of the draws; walk number i does not depend on the other walks.
        p: node2vec's return parameter: the smaller it is, the more often a walk returns to the node before.
        q: node2vec's in-out parameter: the smaller it is, the further a walk moves away; p = q = 1 is DeepWalk's walk.
        sums: [num_stored] running sums of the weights by which to walk; steps do not depend on weights when None.
        threads: all cores when None; the walks do not depend on it.

    Returns:
        [n, length] nodes, the start first. A walk ends at a node without neighbours; the rest of its row is ``END``.
    """
    shares = (1 / p, 1.0, 1 / q)  # of returning, of a neighbour of the node before, and of all others
    back, near, away = (max(1, round(FULL * (share / max(shares)))) for share in shares)
    out = np.empty((starts.size, length), graph.indices.dtype)
    sums = np.empty(0, np.int32) if sums is None else sums
    arrays = (graph.indptr, graph.indices, sums, graph.is_symmetric, starts, back, near, away)
    fill = partial(_walk, *arrays, np.uint64(key.value), out)
    threading.over_ranges(fill, starts.size, chunk=1024, threads=threads)
    return out


@njit(inline="always")
def _bias(indptr, indices, symmetric, before, w, back, near, away):
    if w == before:
        return back
    if near == away:
        return near
    return near if is_neighbour(indptr, indices, symmetric, before, w) else away


@njit
def _step(indptr, indices, sums, symmetric, before, v, back, near, away, stream, n):
    """The node after v; n is the number of the first draw of this step."""
    start, stop = indptr[v], indptr[v + 1]
    by_weight = sums.size > 0
    lowest, size = min(back, near, away), np.uint64(sums[stop - 1] if by_weight else stop - start)
    for trial in range(TRIALS):
        point = below(fold(stream, n + 2 * trial), size)
        w = indices[entry_at(sums, start, stop, point) if by_weight else start + point]
        if before < 0 or lowest == FULL:
            return w
        value = below(fold(stream, n + 2 * trial + 1), _FULL)
        if value < lowest or value < _bias(indptr, indices, symmetric, before, w, back, near, away):
            return w
    value = fold(stream, n + 2 * TRIALS)
    if by_weight:
        return _from_list_by_weight(indptr, indices, sums, symmetric, before, v, back, near, away, value)
    total = np.int64(0)
    for edge in range(start, stop):
        total += _bias(indptr, indices, symmetric, before, indices[edge], back, near, away)
    left = below(value, np.uint64(total))
    for edge in range(start, stop):
        left -= _bias(indptr, indices, symmetric, before, indices[edge], back, near, away)
        if left < 0:
            return indices[edge]
    return END


@njit
def _from_list_by_weight(indptr, indices, sums, symmetric, before, v, back, near, away, value):
    """Draw the node after v from all neighbours, by bias and weight, with the hash ``value``."""
    start, stop = indptr[v], indptr[v + 1]
    biases = (back, near, away)
    kinds, totals = np.empty(stop - start, np.int8), np.zeros(3, np.int64)
    for edge in range(start, stop):
        bias = _bias(indptr, indices, symmetric, before, indices[edge], back, near, away)
        kind = 0 if indices[edge] == before else 1 if bias == near else 2
        kinds[edge - start] = kind
        totals[kind] += np.int64(sums[edge]) - (np.int64(sums[edge - 1]) if edge > start else 0)
    share = np.float64(0.0)
    for kind in range(3):
        share += np.float64(biases[kind]) * np.float64(totals[kind])
    point, drawn = np.float64(value >> np.uint64(11)) * 2.0**-53 * share, 0
    for kind in range(3):
        if totals[kind] > 0:
            drawn = kind
            if point < np.float64(biases[kind]) * np.float64(totals[kind]):
                break
            point -= np.float64(biases[kind]) * np.float64(totals[kind])
    left = below(fold(value, 0), np.uint64(totals[drawn]))
    for edge in range(start, stop):
        if kinds[edge - start] == drawn:
            left -= np.int64(sums[edge]) - (np.int64(sums[edge - 1]) if edge > start else 0)
            if left < 0:
                return indices[edge]
    return END


@compiled
def _walk(indptr, indices, sums, symmetric, starts, back, near, away, key, out, start, stop):
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
            nodes[step + 1] = _step(indptr, indices, sums, symmetric, before, v, back, near, away, stream, number)


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
