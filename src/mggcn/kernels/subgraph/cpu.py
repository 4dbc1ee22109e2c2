"""The induced sub-graph in numba, with a table over all nodes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.kernels._compiled import compiled


@compiled
def subgraph(
    graph_indptr: NDArray[np.int64],
    graph_indices: NDArray[Any],
    nodes: NDArray[np.int64],
    row_of: NDArray[np.int64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int64],
    entries: NDArray[np.int64],
) -> int:
    """Fill the last three and return the number of entries; ``row_of`` [num_nodes] must be filled with -1."""
    for row in range(nodes.size):
        row_of[nodes[row]] = row
    count = 0
    indptr[0] = 0
    for row in range(nodes.size):
        indices[count] = row
        entries[count] = -1
        count += 1
        for entry in range(graph_indptr[nodes[row]], graph_indptr[nodes[row] + 1]):
            other = row_of[graph_indices[entry]]
            if other >= 0:
                indices[count] = other
                entries[count] = entry
                count += 1
        indptr[row + 1] = count
    return count
