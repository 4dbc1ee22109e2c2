"""Makes a block between rows from edges between nodes."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mggcn.block import Block
from mggcn.kernels.relabel import cpu


def block_between(
    receivers: NDArray[Any],
    indptr: NDArray[Any],
    senders: NDArray[Any],
    num_nodes: int,
    weight: NDArray[np.float32] | None = None,
) -> tuple[Block, NDArray[np.int64]]:
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
    count = cpu.relabel(receivers, senders, np.full(num_nodes, -1, np.int64), rows, nodes)
    factors = None if weight is None else torch.from_numpy(weight)
    starts = torch.from_numpy(indptr.astype(np.int64, copy=False))
    block = Block(count, starts, torch.from_numpy(rows), torch.arange(receivers.size), factors)
    return block, nodes[:count].copy()
