"""Random walks in numba, bit-identical to the reference."""

import numpy as np

from mggcn.kernels._compiled import AnyInts, Ints, compiled
from mggcn.kernels.hashing import below, fold


@compiled
def walk(indptr: Ints, indices: AnyInts, pool: Ints, key: np.uint64, out: Ints) -> None:
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
