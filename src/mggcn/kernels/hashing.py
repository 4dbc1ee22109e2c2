"""The hash of :mod:`mggcn.keys` for numba kernels, with identical results."""

import numpy as np
from numba import njit

from mggcn.keys import GOLDEN, MIX_1, MIX_2

_GOLDEN, _MIX_1, _MIX_2 = np.uint64(GOLDEN), np.uint64(MIX_1), np.uint64(MIX_2)
_ONE, _LOW = np.uint64(1), np.uint64(0xFFFFFFFF)
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


@njit(inline="always")
def fold(value, n):
    """Hash a 64-bit value with the counter n."""
    z = value + _GOLDEN * (np.uint64(n) + _ONE)
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@njit(inline="always")
def below(value, bound):
    """Map a 64-bit hash to 0 … bound - 1: the high 64 bits of value × bound."""
    a0, a1 = value & _LOW, value >> _S32
    b0, b1 = bound & _LOW, bound >> _S32
    middle = a1 * b0 + ((a0 * b0) >> _S32)
    return np.int64(a1 * b1 + (middle >> _S32) + ((a0 * b1 + (middle & _LOW)) >> _S32))
