"""Numbers for the nodes of a block in numba, by a table over all nodes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.kernels._compiled import compiled


@compiled
def relabel(
    receivers: NDArray[Any],
    senders: NDArray[Any],
    place: NDArray[np.int64],
    rows: NDArray[np.int64],
    nodes: NDArray[np.int64],
) -> int:
    """Fill ``rows`` and ``nodes`` and return the number of rows; ``place`` [num_nodes] comes full of -1."""
    count = 0
    for node in receivers:
        place[node] = count
        nodes[count] = node
        count += 1
    for e in range(senders.size):
        node = senders[e]
        if place[node] < 0:
            place[node] = count
            nodes[count] = node
            count += 1
        rows[e] = place[node]
    return count
