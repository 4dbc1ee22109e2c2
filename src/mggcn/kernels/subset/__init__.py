"""A few entries of each row of a sparse matrix, drawn uniformly without replacement."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.kernels.subset import cpu
from mggcn.keys import Key


def subset(
    indptr: NDArray[Any], names: NDArray[np.int64], most: int, key: Key
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
    cpu.subset(indptr, names, np.uint64(key.value), out_indptr, out)
    return out_indptr, out
