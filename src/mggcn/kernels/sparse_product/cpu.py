"""The sparse product and its gradient in numba: rows are read where they lie, never copied together."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.kernels._compiled import compiled

Floats = NDArray[np.float32]


@compiled
def product(
    indptr: NDArray[Any], indices: NDArray[Any], data: Floats, nodes: NDArray[Any], weight: Floats, out: Floats
) -> None:
    """Fill ``out`` [n, channels]."""
    channels = weight.shape[1]
    for row in range(nodes.size):
        line = out[row]
        line[:] = 0
        for entry in range(indptr[nodes[row]], indptr[nodes[row] + 1]):
            value, share = data[entry], weight[indices[entry]]
            for c in range(channels):
                line[c] += value * share[c]


@compiled
def gradient(
    indptr: NDArray[Any], indices: NDArray[Any], data: Floats, nodes: NDArray[Any], coming: Floats, out: Floats
) -> None:
    """Add the gradient to ``out`` [width, channels], row after row in the order of ``nodes``."""
    channels = coming.shape[1]
    for row in range(nodes.size):
        line = coming[row]
        for entry in range(indptr[nodes[row]], indptr[nodes[row] + 1]):
            value, share = data[entry], out[indices[entry]]
            for c in range(channels):
                share[c] += value * line[c]
