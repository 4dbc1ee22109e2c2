"""The paper's fine-grained aggregator: the mean of dense or sparse features over all neighbours, or some relations.

On the CPU four rows are read at a time and summed in float64, so that hubs stay accurate.
"""

from collections.abc import Sequence
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


def neighbour_mean(
    graph: Graph,
    x: Features,
    *,
    include_self: bool = False,
    relations: Sequence[int] | None = None,
    threads: int | None = None,
) -> Features:
    """The mean of x over N(v), or over N(v) and v, for every node v; zero if that is empty. Sparse x: sparse means.

    N(v) are the neighbours by some relations, by all when None. Their weights are those of the edges, of v it is 1.
    """
    if not isinstance(x, np.ndarray):
        return _sparse_mean(graph, x, include_self, relations)
    out, entries = np.empty(x.shape, np.float32), graph.relations
    if entries is None:
        fill = partial(_neighbour_mean, graph.indptr, graph.indices, x, include_self, out)
    else:
        number = np.empty(0, np.uint16) if entries.number is None else entries.number
        weight = np.empty(0, np.float32) if entries.weight is None else entries.weight
        wanted = np.zeros(len(graph.schema.relations), bool)
        wanted[list(relations) if relations is not None else slice(None)] = True
        arrays = (entries.indptr, entries.indices, number, weight, wanted)
        fill = partial(_weighted_mean, *arrays, x, include_self, out)
    threading.over_ranges(fill, graph.num_nodes, chunk=512, threads=threads)
    return out


def neighbour_mean_on(
    indptr: Tensor, indices: Tensor, x: Tensor, weight: Tensor | None = None, *, include_self: bool = False
) -> Tensor:
    """The same mean on a GPU, for a graph and dense features that are there already."""
    from mggcn.kernels.gpu import aggregate as gpu

    out = torch.empty_like(x)
    gpu.neighbour_mean(indptr, indices, x, weight, include_self, out)
    return out


def _sparse_mean(graph: Graph, x: csr_array, include_self: bool, relations: Sequence[int] | None) -> csr_array:
    n = graph.num_nodes
    memory.require(_BYTES_PER_ENTRY * graph.num_stored, f"means of sparse features over {graph.num_stored:,} entries")
    members = graph.matrix(relations).astype(np.float64)
    if include_self:
        members = members + eye_array(n, format="csr")
    row = np.repeat(np.arange(n), np.diff(members.indptr))
    total = np.bincount(row, members.data, n)
    share = 1.0 / np.where(total == 0, 1, total)
    mean = csr_array(dia_array((share[None, :], [0]), shape=(n, n)) @ members @ x.astype(np.float64))
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


@compiled
def _weighted_mean(indptr, indices, number, weight, wanted, x, include_self, out, start, stop):
    """Fill rows start … stop of ``out`` [num_nodes, width] with means over the entries of the ``wanted`` relations.

    ``number`` and ``weight`` are empty if there is one relation, or if all entries have the weight 1. Four rows are
    added at a time, so that weights of 1 give the sums of :func:`_neighbour_mean`.
    """
    width = x.shape[1]
    total = np.empty(width, np.float64)
    rows, weights = np.empty(4, np.int64), np.empty(4, np.float32)
    for row in range(start, stop):
        total[:] = 0.0
        size, count = 0.0, 0
        for edge in range(indptr[row], indptr[row + 1]):
            if number.size > 0 and not wanted[number[edge]]:
                continue
            rows[count] = indices[edge]
            weights[count] = weight[edge] if weight.size > 0 else np.float32(1.0)
            size += weights[count]
            count += 1
            if count == 4:
                a, b, c, d = x[rows[0]], x[rows[1]], x[rows[2]], x[rows[3]]
                wa, wb, wc, wd = weights[0], weights[1], weights[2], weights[3]
                for column in range(width):
                    total[column] += (wa * a[column] + wb * b[column]) + (wc * c[column] + wd * d[column])
                count = 0
        for i in range(count):
            a, wa = x[rows[i]], weights[i]
            for column in range(width):
                total[column] += wa * a[column]
        if include_self:
            size += 1.0
            for column in range(width):
                total[column] += x[row, column]
        scale = 1.0 / size if size > 0.0 else 0.0
        for column in range(width):
            out[row, column] = total[column] * scale
