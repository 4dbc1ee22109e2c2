"""The induced sub-graphs in numba, equal to the reference."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.kernels.compiled import compiled
from mggcn.kernels.pick.cpu import row_holds


@compiled
def induce(
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    symmetric: bool,
    picks: NDArray[Any],
    out: NDArray[np.bool_],
    start: int,
    stop: int,
) -> None:
    """Fill sets start … stop of ``out`` [b, s, s]."""
    size = picks.shape[1]
    for t in range(start, stop):
        for i in range(size):
            for j in range(size):
                u, w = picks[t, i], picks[t, j]
                if j > 0 and w == picks[t, 0]:
                    out[t, i, j] = False
                elif symmetric and indptr[w + 1] - indptr[w] < indptr[u + 1] - indptr[u]:
                    out[t, i, j] = row_holds(indptr, indices, w, u)
                else:
                    out[t, i, j] = row_holds(indptr, indices, u, w)
