"""Makes a block between rows from edges between nodes."""

import numpy as np
import torch

from mggcn.block import Block
from mggcn.kernels._compiled import AnyInts, Floats, Ints, compiled


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
    count = _relabel(receivers, senders, np.full(num_nodes, -1, np.int64), rows, nodes)
    factors = None if weight is None else torch.from_numpy(weight)
    starts = torch.from_numpy(indptr.astype(np.int64, copy=False))
    block = Block(count, starts, torch.from_numpy(rows), torch.arange(receivers.size), factors)
    return block, nodes[:count].copy()


@compiled
def _relabel(receivers: AnyInts, senders: AnyInts, row_of: Ints, rows: Ints, nodes: Ints) -> int:
    """Fill ``rows`` and ``nodes`` and return the number of rows; ``row_of`` [num_nodes] must be filled with -1."""
    count = 0
    for node in receivers:
        row_of[node] = count
        nodes[count] = node
        count += 1
    for e in range(senders.size):
        node = senders[e]
        if row_of[node] < 0:
            row_of[node] = count
            nodes[count] = node
            count += 1
        rows[e] = row_of[node]
    return count
