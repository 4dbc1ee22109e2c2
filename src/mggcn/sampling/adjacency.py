"""Normalised adjacency matrices with self-loops, the linear operators of graph convolutions.

Row v holds the factors of the senders of v, which include v itself.
"""

from collections.abc import Sequence
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from mggcn._io import memory
from mggcn.data import Features
from mggcn.graph import Graph
from mggcn.kernels import threads as threading
from mggcn.kernels.gather import sums

Normalisation = Literal["symmetric", "row"]

_BYTES_PER_ENTRY, _BYTES_PER_NODE = 28, 24  # at the peak, measured
_BYTES_PER_WEIGHT = 9  # the parts of relations, their concatenation and which of them are 1


def propagation(graph: Graph, kind: Normalisation = "symmetric", relations: Sequence[int] | None = None) -> csr_array:
    """[num_nodes, num_nodes] float32: D^-½ (A + I) D^-½ of Kipf and Welling, or D^-1 (A + I), the mean over N(v) and v.

    A holds the weights of the edges of some relations, of all when None, and D the sums of the rows of A + I. Where
    these edges go one way only, the second D holds the sums of the columns.
    """
    n = graph.num_nodes
    needed = _BYTES_PER_ENTRY * (graph.num_stored + n) + _BYTES_PER_NODE * n
    memory.require(needed, f"the normalised adjacency matrix of {n:,} nodes and {graph.num_stored:,} entries")
    loops = csr_array(graph.matrix(relations) + eye_array(n, dtype=np.float32, format="csr"))
    loops.sort_indices()
    degree = np.add.reduceat(loops.data, loops.indptr[:-1], dtype=np.float64) if n else np.empty(0)
    factor = 1 / degree if kind == "row" else degree**-0.5
    data = np.repeat(factor, np.diff(loops.indptr)) * loops.data
    if kind == "symmetric":
        if relations is not None and graph.schema.is_one_way(relations):
            factor = np.asarray(np.bincount(loops.indices, loops.data, n) ** -0.5)
        data *= factor[loops.indices]
    return csr_array((data.astype(np.float32), loops.indices, loops.indptr), shape=(n, n))


def unequal_weights(graph: Graph) -> NDArray[np.float32] | None:
    """[num_stored] the weight of each neighbour, over all types and both ways; None if all of them are 1.

    Samplers then do what they do without weights, to the bit.
    """
    if graph.relations is None:
        return None
    memory.require(_BYTES_PER_WEIGHT * graph.num_stored, f"the weights of {graph.num_stored:,} neighbours")
    weights = graph.neighbour_weights()
    return None if bool((weights == 1).all()) else weights


def mean_operator(graph: Graph, include_self: bool, relations: Sequence[int] | None = None) -> csr_array:
    """[num_nodes, num_nodes] the weighted mean over N(v), or over N(v) and v, as a matrix.

    N(v) are the neighbours by some relations, by all when None; the node itself has the weight 1.
    """
    if include_self:
        return propagation(graph, "row", relations)
    matrix = graph.matrix(relations)
    sizes = np.diff(matrix.indptr)
    total = np.bincount(np.repeat(np.arange(graph.num_nodes), sizes), matrix.data, graph.num_nodes)
    share = np.repeat(1 / np.where(sizes == 0, 1, total), sizes)
    return csr_array(((share * matrix.data).astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)


def propagated(adjacency: csr_array, x: Features, threads: int | None = None) -> Features:
    """[num_nodes, channels] adjacency @ x; sparse x gives a sparse result, dense x is multiplied on several threads."""
    if not isinstance(x, np.ndarray):
        return csr_array(adjacency @ x)
    out = np.empty(x.shape, np.float32)
    fill = partial(sums, adjacency.indptr, adjacency.indices, adjacency.data, np.ascontiguousarray(x), out)
    threading.over_ranges(fill, adjacency.shape[0], chunk=512, threads=threads)
    return out


def powers(
    graph: Graph, x: Features, hops: int, threads: int | None = None, kind: Normalisation = "symmetric"
) -> list[Features]:
    """x, Âx, … Â^hops x with a normalised adjacency matrix Â, see :func:`propagation`."""
    adjacency, parts = propagation(graph, kind), [x]
    for _ in range(hops):
        parts.append(propagated(adjacency, parts[-1], threads))
    return parts
