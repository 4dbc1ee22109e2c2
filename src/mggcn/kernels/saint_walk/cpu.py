"""Random walks in numba, bit-identical to the reference."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.kernels._compiled import compiled
from mggcn.kernels.hashing import below, fold


@compiled
def walk(
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    pool: NDArray[np.int64],
    key: np.uint64,
    out: NDArray[np.int64],
) -> None:
    """Fill ``out`` [walks, 1 + length]."""
    for number in range(out.shape[0]):
        stream = fold(key, number)
        node = pool[below(fold(stream, 0), np.uint64(pool.size))]
        out[number, 0] = node
        for step in range(1, out.shape[1]):
            size = indptr[node + 1] - indptr[node]
            if size > 0:
                node = np.int64(indices[indptr[node] + below(fold(stream, step), np.uint64(size))])
            out[number, step] = node
