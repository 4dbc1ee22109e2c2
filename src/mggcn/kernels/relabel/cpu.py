"""Numbers the nodes of a block in numba, with a table over all nodes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.kernels._compiled import compiled


@compiled
def relabel(
    receivers: NDArray[Any],
    senders: NDArray[Any],
    row_of: NDArray[np.int64],
    rows: NDArray[np.int64],
    nodes: NDArray[np.int64],
) -> int:
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
