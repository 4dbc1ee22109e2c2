"""Normalised adjacency matrices with self-loops, the linear operators of graph convolutions.

Row v holds the factors of the senders of v, which include v itself.
"""

from functools import partial
from typing import Literal

import numpy as np
from scipy.sparse import csr_array, eye_array

from mggcn._io import memory
from mggcn.data import Features
from mggcn.graph import Graph
from mggcn.kernels import threads as threading
from mggcn.kernels.gather import sums

Normalisation = Literal["symmetric", "row"]

_BYTES_PER_ENTRY, _BYTES_PER_NODE = 28, 24  # at the peak, measured


def propagation(graph: Graph, kind: Normalisation = "symmetric") -> csr_array:
    """[num_nodes, num_nodes] float32: D^-½ (A + I) D^-½ of Kipf and Welling, or D^-1 (A + I), the mean over N(v) and v.

    D is the number of stored neighbours of each node, plus one for the node itself.
    """
    n = graph.num_nodes
    needed = _BYTES_PER_ENTRY * (graph.num_stored + n) + _BYTES_PER_NODE * n
    memory.require(needed, f"the normalised adjacency matrix of {n:,} nodes and {graph.num_stored:,} entries")
    loops = csr_array((np.ones(graph.num_stored, np.float32), graph.indices, graph.indptr), shape=(n, n))
    loops = csr_array(loops + eye_array(n, dtype=np.float32, format="csr"))
    loops.sort_indices()
    degree = np.diff(loops.indptr).astype(np.float64)
    factor = 1 / degree if kind == "row" else degree**-0.5
    data = np.repeat(factor, np.diff(loops.indptr))
    if kind == "symmetric":
        data *= factor[loops.indices]
    return csr_array((data.astype(np.float32), loops.indices, loops.indptr), shape=(n, n))


def mean_operator(graph: Graph, include_self: bool) -> csr_array:
    """[num_nodes, num_nodes] the mean over N(v), or over N(v) and v, as a matrix."""
    if include_self:
        return propagation(graph, "row")
    degrees = np.diff(graph.indptr)
    share = np.repeat(1 / np.maximum(degrees, 1), degrees).astype(np.float32)
    return csr_array((share, graph.indices, graph.indptr), shape=(graph.num_nodes, graph.num_nodes))


def propagated(adjacency: csr_array, x: Features, threads: int | None = None) -> Features:
    """[num_nodes, channels] adjacency @ x; sparse x gives a sparse result, dense x is multiplied on several threads."""
    if not isinstance(x, np.ndarray):
        return csr_array(adjacency @ x)
    out = np.empty(x.shape, np.float32)
    fill = partial(sums, adjacency.indptr, adjacency.indices, adjacency.data, np.ascontiguousarray(x), out)
    threading.over_ranges(fill, adjacency.shape[0], chunk=512, threads=threads)
    return out


def powers(graph: Graph, x: Features, hops: int, threads: int | None = None) -> list[Features]:
    """x, Âx, … Â^hops x with the symmetric normalisation Â."""
    adjacency, parts = propagation(graph), [x]
    for _ in range(hops):
        parts.append(propagated(adjacency, parts[-1], threads))
    return parts
