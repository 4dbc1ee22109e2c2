"""Features of a node from the edges alone, for graphs without features.

All are exact and take memory in proportion to the edges. Counts are as log(1 + count), because degrees have long tails.
Clustering, cores and neighbours ignore the direction of edges; PageRank does not. Weights and types do not count.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mggcn.graph import Graph, IntArray

_DAMPING, _TOLERANCE, _MOST_STEPS = 0.85, 1e-10, 200


def structural_features(graph: Graph) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    """[num_nodes, features] and their names.

    - ``log degree``: of the number of neighbours. A directed graph also has ``log in-degree`` and ``log out-degree``.
    - ``log mean neighbour degree``: of the mean degree of the neighbours, 0 without neighbours.
    - ``clustering``: the share of pairs of neighbours that are neighbours of each other.
    - ``log core number``: of the largest k such that the node is in a subgraph of nodes with k neighbours each.
    - ``log PageRank``: of PageRank with damping 0.85 times the number of nodes, which is 1 on average.
    """
    whole = graph if graph.is_symmetric else Graph.from_edges(*graph.edges(), graph.num_nodes)
    listing = graph.towards("in") if graph.direction == "directed" else graph
    degrees = np.diff(whole.indptr)
    columns = {"log degree": np.log1p(degrees)}
    if not listing.is_symmetric:
        stored, listed = np.diff(listing.indptr), np.bincount(listing.indices, minlength=graph.num_nodes)
        incoming, outgoing = (stored, listed) if listing.direction == "in" else (listed, stored)
        columns |= {"log in-degree": np.log1p(incoming), "log out-degree": np.log1p(outgoing)}
    columns |= {
        "log mean neighbour degree": np.log1p(_neighbour_mean(whole, degrees)),
        "clustering": _clustering(whole, degrees),
        "log core number": np.log1p(_core_numbers(whole.indptr, whole.indices)),
        "log PageRank": np.log(_pagerank(listing) * graph.num_nodes),
    }
    return np.stack(list(columns.values()), axis=1).astype(np.float32), tuple(columns)


def _neighbour_mean(graph: Graph, values: NDArray[np.int64]) -> NDArray[np.float64]:
    n = graph.num_nodes
    ones = np.ones(graph.num_stored, np.float64)
    total = csr_array((ones, graph.indices, graph.indptr), shape=(n, n)) @ values.astype(np.float64)
    mean: NDArray[np.float64] = total / np.maximum(np.diff(graph.indptr), 1)
    return mean


def _clustering(graph: Graph, degrees: NDArray[np.int64]) -> NDArray[np.float64]:
    # Each edge is kept at its end of lower degree: a triangle is then found once, and no row is long.
    rows, columns = graph.edges()
    keep = (degrees[rows] < degrees[columns]) | ((degrees[rows] == degrees[columns]) & (rows < columns))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[keep], minlength=graph.num_nodes))])
    triangles = _triangles(indptr, columns[keep])
    share: NDArray[np.float64] = 2 * triangles / np.maximum(degrees * (degrees - 1), 1)
    return share


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _triangles(indptr: NDArray[np.int64], indices: IntArray) -> NDArray[np.int64]:
    n = indptr.size - 1
    count, marked = np.zeros(n, np.int64), np.full(n, -1, np.int64)
    for u in range(n):
        for i in range(indptr[u], indptr[u + 1]):
            marked[indices[i]] = u
        for i in range(indptr[u], indptr[u + 1]):
            v = indices[i]
            for j in range(indptr[v], indptr[v + 1]):
                w = indices[j]
                if marked[w] == u:
                    count[u] += 1
                    count[v] += 1
                    count[w] += 1
    return count


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _core_numbers(indptr: NDArray[np.int64], indices: IntArray) -> NDArray[np.int64]:
    """Batagelj and Zaveršnik: remove nodes in the order of their remaining degree, kept sorted by buckets."""
    n = indptr.size - 1
    core = np.diff(indptr)
    starts = np.zeros(core.max() + 2 if n else 2, np.int64)
    for v in range(n):
        starts[core[v] + 1] += 1
    starts = np.cumsum(starts)
    order, position, free = np.empty(n, np.int64), np.empty(n, np.int64), starts.copy()
    for v in range(n):
        position[v] = free[core[v]]
        order[position[v]] = v
        free[core[v]] += 1
    for i in range(n):
        v = order[i]
        for j in range(indptr[v], indptr[v + 1]):
            u = indices[j]
            if core[u] > core[v]:
                first = starts[core[u]]
                w = order[first]
                order[position[u]], order[first] = w, u
                position[w], position[u] = position[u], first
                starts[core[u]] += 1
                core[u] -= 1
    return core


def _pagerank(graph: Graph) -> NDArray[np.float64]:
    n = graph.num_nodes
    adjacency = csr_array((np.ones(graph.num_stored), graph.indices, graph.indptr), shape=(n, n))
    incoming = adjacency.T.tocsr() if graph.direction == "out" else adjacency
    outgoing = np.diff(graph.indptr) if graph.direction == "out" else np.bincount(graph.indices, minlength=n)
    rank = np.full(n, 1 / n)
    for _ in range(_MOST_STEPS):
        sent = rank / np.maximum(outgoing, 1)
        dangling = rank[outgoing == 0].sum()
        following = _DAMPING * (incoming @ sent + dangling / n) + (1 - _DAMPING) / n
        change = np.abs(following - rank).sum()
        rank = following
        if change < _TOLERANCE:
            break
    return rank
