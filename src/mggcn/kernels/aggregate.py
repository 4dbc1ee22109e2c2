"""The mean over all neighbours of dense or sparse features: the paper's fine-grained aggregator.

On the CPU four rows are read at a time and summed in float64, so that hubs stay accurate.
"""

from functools import partial

import numpy as np
import torch
from scipy.sparse import csr_array, dia_array, eye_array
from torch import Tensor

from mggcn._io import memory
from mggcn.data import Features
from mggcn.graph import Graph
from mggcn.kernels import threads as threading
from mggcn.kernels._compiled import compiled

_BYTES_PER_ENTRY = 28  # the matrix of ones, and the same with self-loops


def neighbour_mean(graph: Graph, x: Features, *, include_self: bool = False, threads: int | None = None) -> Features:
    """The mean of x over N(v), or over N(v) and v, for every node v; zero if that is empty. Sparse x: sparse means."""
    if not isinstance(x, np.ndarray):
        return _sparse_mean(graph, x, include_self)
    out = np.empty(x.shape, np.float32)
    fill = partial(_neighbour_mean, graph.indptr, graph.indices, x, include_self, out)
    threading.over_ranges(fill, graph.num_nodes, chunk=512, threads=threads)
    return out


def neighbour_mean_on(indptr: Tensor, indices: Tensor, x: Tensor, *, include_self: bool = False) -> Tensor:
    """The same mean on a GPU, for a graph and dense features that are there already."""
    from mggcn.kernels.gpu import aggregate as gpu

    out = torch.empty_like(x)
    gpu.neighbour_mean(indptr, indices, x, include_self, out)
    return out


def _sparse_mean(graph: Graph, x: csr_array, include_self: bool) -> csr_array:
    n = graph.num_nodes
    memory.require(_BYTES_PER_ENTRY * graph.num_stored, f"means of sparse features over {graph.num_stored:,} entries")
    members = csr_array((np.ones(graph.num_stored), graph.indices, graph.indptr), shape=(n, n))
    if include_self:
        members = members + eye_array(n, format="csr")
    sizes = np.maximum(np.diff(members.indptr), 1)
    mean = csr_array(dia_array((1.0 / sizes[None, :], [0]), shape=(n, n)) @ members @ x.astype(np.float64))
    return csr_array(mean.astype(np.float32))


@compiled
def _neighbour_mean(indptr, indices, x, include_self, out, start, stop):
    """Fill rows start … stop of ``out`` [num_nodes, width]."""
    width = x.shape[1]
    total = np.empty(width, np.float64)
    for row in range(start, stop):
        total[:] = 0.0
        edge, end = indptr[row], indptr[row + 1]
        while edge + 4 <= end:
            a, b, c, d = x[indices[edge]], x[indices[edge + 1]], x[indices[edge + 2]], x[indices[edge + 3]]
            for column in range(width):
                total[column] += (a[column] + b[column]) + (c[column] + d[column])
            edge += 4
        while edge < end:
            a = x[indices[edge]]
            for column in range(width):
                total[column] += a[column]
            edge += 1
        size = end - indptr[row]
        if include_self:
            size += 1
            for column in range(width):
                total[column] += x[row, column]
        scale = 1.0 / max(size, 1)
        for column in range(width):
            out[row, column] = total[column] * scale
