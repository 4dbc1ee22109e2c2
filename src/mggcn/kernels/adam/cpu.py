"""Adam in numba, in two loops that the compiler turns into vector instructions."""

import numpy as np
from numpy.typing import NDArray

from mggcn.kernels.compiled import compiled

Floats = NDArray[np.float32]


@compiled
def step(
    weight: Floats,
    gradient: Floats,
    first: Floats,
    second: Floats,
    size: np.float32,
    root: np.float32,
    decay: np.float32,
) -> None:
    """Update flat arrays; ``size`` is lr / (1 - β₁ᵗ) and ``root`` 1 / √(1 - β₂ᵗ)."""
    b1, b2, epsilon = np.float32(0.9), np.float32(0.999), np.float32(1e-8)
    c1, c2 = np.float32(1 - 0.9), np.float32(1 - 0.999)
    for i in range(weight.size):
        g = gradient[i] + decay * weight[i]
        first[i] = b1 * first[i] + c1 * g
        second[i] = b2 * second[i] + c2 * (g * g)
    for i in range(weight.size):
        weight[i] -= size * first[i] / (np.sqrt(second[i]) * root + epsilon)
