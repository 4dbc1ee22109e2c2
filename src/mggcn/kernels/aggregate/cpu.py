"""The mean over all neighbours in numba: four rows at a time, summed in float64 so that hubs stay accurate."""

import numpy as np

from mggcn.kernels._compiled import AnyInts, Floats, Ints, compiled


@compiled
def neighbour_mean(
    indptr: Ints, indices: AnyInts, x: Floats, include_self: bool, out: Floats, start: int, stop: int
) -> None:
    """Fill rows start … stop of ``out`` [num_nodes, width]."""
    width = x.shape[1]
    total = np.empty(width, np.float64)
    for row in range(start, stop):
        total[:] = 0.0
        edge, end = indptr[row], indptr[row + 1]
        while edge + 4 <= end:
            a, b, c, d = x[indices[edge]], x[indices[edge + 1]], x[indices[edge + 2]], x[indices[edge + 3]]
            for column in range(width):
                total[column] += (a[column] + b[column]) + (c[column] + d[column])
            edge += 4
        while edge < end:
            a = x[indices[edge]]
            for column in range(width):
                total[column] += a[column]
            edge += 1
        size = end - indptr[row]
        if include_self:
            size += 1
            for column in range(width):
                total[column] += x[row, column]
        scale = 1.0 / max(size, 1)
        for column in range(width):
            out[row, column] = total[column] * scale
