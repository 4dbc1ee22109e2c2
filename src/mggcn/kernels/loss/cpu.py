"""Cross-entropy with its gradient in numba."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.kernels.compiled import compiled

Floats = NDArray[np.float32]


@compiled
def cross_entropy(scores: Floats, labels: NDArray[Any], weight: Floats, out: Floats) -> float:
    """Fill ``out`` with the gradient of the weighted mean loss and return that loss."""
    b, classes = scores.shape
    share = 0.0
    for t in range(b):
        share += weight[labels[t]]
    total = 0.0
    for t in range(b):
        factor = weight[labels[t]] / share
        largest = scores[t].max()
        norm = 0.0
        for c in range(classes):
            out[t, c] = np.exp(scores[t, c] - largest)
            norm += out[t, c]
        total += factor * (np.log(norm) - (scores[t, labels[t]] - largest))
        for c in range(classes):
            out[t, c] *= factor / norm
        out[t, labels[t]] -= factor
    return total
