"""Numbers the nodes of a batch: makes a block between rows from edges between nodes, and finds repeated nodes.

The row of each node is in a table with an entry per node of the graph, or in a hash table if that is smaller.
"""

from typing import Any

import numpy as np
import torch
from numba import njit

from mggcn.block import Block
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
def _relabel(receivers: AnyInts, senders: AnyInts, known: Ints, row_of: Ints, rows: Ints, nodes: AnyInts) -> int:
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


@njit(inline="always")  # type: ignore[untyped-decorator]
def slot_of(nodes: Any, node: Any) -> Any:
    """Where the row of a node is, or would be if it has none yet: then nodes[slot] is to be set."""
    if nodes.size == 0:
        return np.int64(node)
    mask = nodes.size - 1
    slot = np.int64((np.uint64(node) * _GOLDEN) >> np.uint64(32)) & mask
    while nodes[slot] != -1 and nodes[slot] != node:
        slot = (slot + 1) & mask
    return slot
