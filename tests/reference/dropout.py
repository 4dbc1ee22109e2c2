"""Dropout of rows by counters, in numpy: the specification of the fast kernels.

The value of node v in column c is dropped if 32 bits of a hash of (key, v, c // 2), the low ones for even c and the
high ones for odd c, are less than share · 2³²; the other values are divided by 1 - share.
"""

import numpy as np
from numpy.typing import NDArray

from mggcn.keys import Key, folds


def dropout(x: NDArray[np.float32], nodes: NDArray[np.integer], share: float, key: Key) -> NDArray[np.float32]:
    """[n, width] rows of nodes [n] after dropout."""
    return np.where(kept(nodes, x.shape[1], share, key), np.float32(1 / (1 - share)) * x, np.float32(0))


def kept(nodes: NDArray[np.integer], width: int, share: float, key: Key) -> NDArray[np.bool_]:
    """[n, width] which values of the rows of nodes [n] are kept."""
    count = (width + 1) // 2
    hashes = np.array([folds(key.fold(int(node)).value, count) for node in nodes], np.uint64).reshape(-1, count)
    draws = np.stack([hashes & np.uint64(2**32 - 1), hashes >> np.uint64(32)], axis=2).reshape(-1, 2 * count)
    return np.asarray(draws[:, :width] >= int(share * 2**32))
