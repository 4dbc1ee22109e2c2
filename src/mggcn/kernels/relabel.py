"""Numbers the nodes of a batch: makes a block from edges between nodes, an induced sub-graph, and finds repeated nodes.

The row of each node is in a table with an entry per node of the graph, or in a hash table if that is smaller. Distinct
rows are copied to the rows of a batch that repeat them; the gradient is summed in a fixed order.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

from mggcn.block import Block, Repeats
from mggcn.graph import Graph
from mggcn.kernels._compiled import AnyInts, Floats, Ints, compiled

_NO_NODES = np.empty(0, np.int64)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def block_between(
    receivers: AnyInts, indptr: AnyInts, senders: AnyInts, num_nodes: int, weight: Floats | None = None
) -> tuple[Block, Ints]:
    """Make the block of some edges, and find the node of each row below it.

    Args:
        receivers: [num_dst] distinct nodes.
        indptr: [num_dst + 1] the start of each receiver's senders.
        senders: [num_edges] nodes.
        num_nodes: of the graph.
        weight: [num_edges] or None, as in :class:`mggcn.block.Block`.

    Returns:
        The block, whose rows below are the receivers in their order and then every other sender in the order of its
        first edge; and [num_src] the node of each of those rows.
    """
    rows = np.empty(senders.size, np.int64)
    nodes = np.empty(receivers.size + senders.size, np.int64)
    table = empty_rows(num_nodes, nodes.size)
    count = _relabel(receivers, senders, *table, rows, nodes)
    factors = None if weight is None else torch.from_numpy(weight)
    starts = torch.from_numpy(indptr.astype(np.int64, copy=False))
    block = Block(count, starts, torch.from_numpy(rows), torch.arange(receivers.size), factors)
    return block, nodes[:count].copy()


def distinct(nodes: AnyInts, num_nodes: int) -> tuple[AnyInts, Ints]:
    """The distinct nodes in the order of their first occurrence, and [n] the position of each node among them."""
    index, found = np.empty(nodes.size, np.int64), np.empty_like(nodes)
    count = _relabel(_NO_NODES, nodes, *empty_rows(num_nodes, nodes.size), index, found)
    return found[:count], index


@compiled
def _relabel(receivers, senders, known, row_of, rows, nodes):
    """Fill ``rows`` and ``nodes`` and return the number of rows; ``known`` and ``row_of`` are an empty table."""
    count = 0
    for node in receivers:
        slot = slot_of(known, node)
        if known.size:
            known[slot] = node
        row_of[slot] = count
        nodes[count] = node
        count += 1
    for e in range(senders.size):
        node = senders[e]
        slot = slot_of(known, node)
        if row_of[slot] < 0:
            if known.size:
                known[slot] = node
            row_of[slot] = count
            nodes[count] = node
            count += 1
        rows[e] = row_of[slot]
    return count


def empty_rows(num_nodes: int, count: int) -> tuple[Ints, Ints]:
    """The nodes and rows of a table for at most ``count`` of the graph's nodes; see :func:`slot_of`.

    Without nodes, the slot of a node is its number. All rows are -1.
    """
    size = 1 << max(2 * count - 1, 1).bit_length()
    if num_nodes <= 2 * size:
        return np.empty(0, np.int64), np.full(num_nodes, -1, np.int64)
    return np.full(size, -1, np.int64), np.full(size, -1, np.int64)


@njit(inline="always")
def slot_of(nodes, node):
    """Where the row of a node is, or would be if it has none yet: then nodes[slot] is to be set."""
    if nodes.size == 0:
        return np.int64(node)
    mask = nodes.size - 1
    slot = np.int64((np.uint64(node) * _GOLDEN) >> np.uint64(32)) & mask
    while nodes[slot] != -1 and nodes[slot] != node:
        slot = (slot + 1) & mask
    return slot


@dataclass(frozen=True, eq=False)
class Subgraph:
    """Some nodes and the edges between them, in compressed sparse rows; each row begins with a self-loop.

    Attributes:
        nodes: [n] the node of each row.
        indptr: [n + 1] the start of each row.
        indices: [e] the neighbours, as rows.
        entries: [e] the index of each entry in the graph's ``indices``, -1 for a self-loop.
    """

    nodes: Ints
    indptr: Ints
    indices: Ints
    entries: Ints


def subgraph(graph: Graph, nodes: Ints) -> Subgraph:
    """The sub-graph of distinct ``nodes``, its rows in their order."""
    most = int((graph.indptr[nodes + 1] - graph.indptr[nodes]).sum()) + nodes.size
    indptr = np.empty(nodes.size + 1, np.int64)
    indices, entries = np.empty(most, np.int64), np.empty(most, np.int64)
    table = empty_rows(graph.num_nodes, nodes.size)
    count = _subgraph(graph.indptr, graph.indices, nodes, *table, indptr, indices, entries)
    return Subgraph(nodes, indptr, indices[:count].copy(), entries[:count].copy())


@compiled
def _subgraph(graph_indptr, graph_indices, nodes, known, row_of, indptr, indices, entries):
    """Fill the last three and return the number of entries; ``known`` and ``row_of`` are an empty table."""
    for row in range(nodes.size):
        slot = slot_of(known, nodes[row])
        if known.size:
            known[slot] = nodes[row]
        row_of[slot] = row
    count = 0
    indptr[0] = 0
    for row in range(nodes.size):
        indices[count] = row
        entries[count] = -1
        count += 1
        for entry in range(graph_indptr[nodes[row]], graph_indptr[nodes[row] + 1]):
            other = row_of[slot_of(known, graph_indices[entry])]
            if other >= 0:
                indices[count] = other
                entries[count] = entry
                count += 1
        indptr[row + 1] = count
    return count


def expand(distinct: Tensor, repeats: Repeats) -> Tensor:
    """[c, channels] on a GPU to [n, channels]: copy each distinct row to the rows of the batch that repeat it."""
    out: Tensor = _Expand.apply(distinct, repeats)
    return out


def segment_sum(rows: Tensor, repeats: Repeats) -> Tensor:
    """[n, channels] on a GPU to [c, channels]: for each distinct row, sum the rows that repeat it, in order."""
    from mggcn.kernels.gpu import relabel as gpu

    return gpu.segment_sum(rows.contiguous(), repeats.indptr, repeats.order)


class _Expand(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, distinct: Tensor, repeats: Repeats) -> Tensor:
        ctx.repeats = repeats
        return distinct.index_select(0, repeats.index)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return segment_sum(gradients[0], ctx.repeats), None
