"""The mean over all neighbours in numba, summed in float64 so that hubs lose nothing."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.kernels.compiled import compiled


@compiled
def neighbour_mean(
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    x: NDArray[np.float32],
    include_self: bool,
    out: NDArray[np.float32],
    start: int,
    stop: int,
) -> None:
    """Fill rows start … stop of ``out`` [num_nodes, width]."""
    width = x.shape[1]
    total = np.empty(width, np.float64)
    for row in range(start, stop):
        total[:] = 0.0
        for edge in range(indptr[row], indptr[row + 1]):
            neighbour = indices[edge]
            for column in range(width):
                total[column] += x[neighbour, column]
        size = indptr[row + 1] - indptr[row]
        if include_self:
            size += 1
            for column in range(width):
                total[column] += x[row, column]
        scale = 1.0 / max(size, 1)
        for column in range(width):
            out[row, column] = total[column] * scale
