"""What a convolution sees of edges: the weight and the relation of the edge between two nodes, or by which a pick came.

Two nodes may be connected by several edges, of different types or directions; they count as one edge with the sum of
the weights and the relation of the heaviest.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mggcn.graph import Entries, Graph
from mggcn.kernels import threads as threading
from mggcn.kernels._compiled import AnyInts, Floats, Ints, compiled
from mggcn.kernels.pick import Explore, is_neighbour


class EdgeData(NamedTuple):
    """The edges of some pairs of a receiver and a sender.

    Attributes:
        weight: [n] float32 the sums of the weights between two nodes, 1 for two nodes without an edge.
        relation: [n] uint16 the relation of the heaviest edge in the receiver's row, of equal ones the one with the
            smallest number. For a node and itself, and two nodes without an edge, it is the number of relations.
    """

    weight: Floats
    relation: NDArray[np.uint16]


def edge_data(graph: Graph, receivers: AnyInts, senders: AnyInts, *, threads: int | None = None) -> EdgeData:
    """The weight and the relation of the edges in the rows of [n] receivers to [n] senders."""
    entries = graph.relations if graph.relations is not None else Entries(graph.indptr, graph.indices)
    number = np.empty(0, np.uint16) if entries.number is None else entries.number
    weight = np.empty(0, np.float32) if entries.weight is None else entries.weight
    found = EdgeData(np.empty(receivers.size, np.float32), np.empty(receivers.size, np.uint16))
    none = len(graph.schema.relations)
    fill = partial(_edge_data, entries.indptr, entries.indices, number, weight, none, receivers, senders, *found)
    threading.over_ranges(fill, receivers.size, chunk=8192, threads=threads)
    return found


def arrivals(graph: Graph, picks: NDArray[Any], *, explore: Explore = "both", threads: int | None = None) -> Ints:
    """The member of S(v) next to which each pick was drawn: the first one that it is connected to.

    Args:
        graph: from which the picks were drawn.
        picks: [b, s] members of S(v), the target first, short rows padded with the target.
        explore: with which the picks were drawn; with ``depth`` each came by the one before it.
        threads: all cores when None; the result does not depend on it.

    Returns:
        [b, s] columns of ``picks``; 0 for the target and for padding.
    """
    if explore == "depth":
        before = np.maximum(np.arange(picks.shape[1]) - 1, 0)
        return np.where(picks == picks[:, :1], 0, before)
    out = np.empty(picks.shape, np.int64)
    fill = partial(_arrivals, graph.indptr, graph.indices, graph.is_symmetric, picks, out)
    threading.over_ranges(fill, picks.shape[0], chunk=1024, threads=threads)
    return out


@compiled
def _edge_data(indptr, indices, number, weight, none, receivers, senders, total, relation, start, stop):
    """Fill entries start … stop of ``total`` and ``relation``.

    ``number`` and ``weight`` are empty if there is one relation, or if all entries have the weight 1.
    """
    for i in range(start, stop):
        node = senders[i]
        low, end = indptr[receivers[i]], indptr[receivers[i] + 1]
        high = end
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < node:
                low = middle + 1
            else:
                high = middle
        total[i], relation[i] = 1.0, none
        summed, heaviest = 0.0, np.float32(0.0)
        while low < end and indices[low] == node:
            here = weight[low] if weight.size > 0 else np.float32(1.0)
            if here > heaviest:
                heaviest = here
                relation[i] = number[low] if number.size > 0 else 0
            summed += np.float64(here)
            low += 1
        if summed > 0.0:
            total[i] = summed


@compiled
def _arrivals(indptr, indices, symmetric, picks, out, start, stop):
    """Fill sets start … stop of ``out`` [b, s]."""
    for t in range(start, stop):
        for j in range(picks.shape[1]):
            out[t, j] = 0
            if picks[t, j] == picks[t, 0]:
                continue
            for i in range(j):
                if is_neighbour(indptr, indices, symmetric, picks[t, i], picks[t, j]):
                    out[t, j] = i
                    break
