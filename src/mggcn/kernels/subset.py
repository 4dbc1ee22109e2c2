"""A few entries of each row of a sparse matrix, drawn uniformly without replacement by Floyd's algorithm.

Every draw is a hash of (key, the row's name, step).
"""

import numpy as np

from mggcn.kernels._compiled import AnyInts, Ints, compiled
from mggcn.kernels.hashing import below, fold
from mggcn.keys import Key


def subset(indptr: AnyInts, names: Ints, most: int, key: Key) -> tuple[Ints, Ints]:
    """Draw ``most`` distinct entries of every row, or all of them if it has no more.

    Args:
        indptr: [n + 1] the start of each row.
        names: [n] a number for each row; rows of the same size and name draw the same positions.
        most: entries drawn per row.
        key: of the draws.

    Returns:
        [n + 1] the start of each row's draws, and the indices of the entries drawn.
    """
    out_indptr = np.zeros(names.size + 1, np.int64)
    np.cumsum(np.minimum(np.diff(indptr), most), out=out_indptr[1:])
    out = np.empty(out_indptr[-1], np.int64)
    _subset(indptr, names, np.uint64(key.value), out_indptr, out)
    return out_indptr, out


@compiled
def _subset(indptr: AnyInts, names: Ints, key: np.uint64, out_indptr: Ints, out: Ints) -> None:
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
