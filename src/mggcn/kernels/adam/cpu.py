"""Adam in numba: one pass over weight, gradient and moments."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
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
        m = b1 * first[i] + c1 * g
        v = b2 * second[i] + c2 * g * g
        first[i] = m
        second[i] = v
        weight[i] -= size * m / (np.sqrt(v) * root + epsilon)
