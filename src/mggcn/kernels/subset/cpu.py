"""Uniform subsets in numba, bit-identical to the reference."""

import numpy as np

from mggcn.kernels._compiled import AnyInts, Ints, compiled
from mggcn.kernels.hashing import below, fold


@compiled
def subset(indptr: AnyInts, names: Ints, key: np.uint64, out_indptr: Ints, out: Ints) -> None:
    """Fill ``out`` with entries of every row; ``out_indptr`` sets their number."""
    for row in range(names.size):
        stream = fold(key, names[row])
        size, first = indptr[row + 1] - indptr[row], out_indptr[row]
        count = out_indptr[row + 1] - first
        for step in range(count):
            last = size - count + step
            index = below(fold(stream, step), np.uint64(last + 1))
            for earlier in range(first, first + step):
                if out[earlier] == indptr[row] + index:
                    index = last
                    break
            out[first + step] = indptr[row] + index
