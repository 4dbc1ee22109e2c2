"""The row of each node of a batch: an entry per node of the graph, or a hash table if that is smaller."""

from typing import Any

import numpy as np
from numba import njit

from mggcn.kernels._compiled import Ints

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


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
