"""Normalised adjacency matrices, the linear operators of graph convolutions, as sparse matrices with self-loops.

Row v holds the factors of the senders that v hears, itself among them.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from mggcn.graph import Graph

Normalisation = Literal["symmetric", "row"]


def propagation(graph: Graph, kind: Normalisation = "symmetric") -> csr_array:
    """[num_nodes, num_nodes] float32: D^-½ (A + I) D^-½ of Kipf and Welling, or D^-1 (A + I), the mean over N(v) and v.

    D counts each node's stored neighbours and itself.
    """
    n = graph.num_nodes
    loops = csr_array((np.ones(graph.num_stored, np.float32), graph.indices, graph.indptr), shape=(n, n))
    loops = csr_array(loops + eye_array(n, dtype=np.float32, format="csr"))
    loops.sort_indices()
    degree = np.diff(loops.indptr).astype(np.float64)
    if kind == "row":
        return _scaled(loops, 1 / degree, None)
    return _scaled(loops, degree**-0.5, degree**-0.5)


def _scaled(matrix: csr_array, left: NDArray[np.float64], right: NDArray[np.float64] | None) -> csr_array:
    rows = np.repeat(left, np.diff(matrix.indptr))
    data = rows if right is None else rows * right[matrix.indices]
    return csr_array((data.astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)
