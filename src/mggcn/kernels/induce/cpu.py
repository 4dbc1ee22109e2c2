"""The induced sub-graphs in numba, equal to the reference."""

import numpy as np
from numpy.typing import NDArray

from mggcn.kernels._compiled import AnyInts, Ints, compiled
from mggcn.kernels.pick.cpu import is_neighbour


@compiled
def induce(
    indptr: Ints, indices: AnyInts, symmetric: bool, picks: AnyInts, out: NDArray[np.bool_], start: int, stop: int
) -> None:
    """Fill sets start … stop of ``out`` [b, s, s]."""
    size = picks.shape[1]
    for t in range(start, stop):
        for i in range(size):
            for j in range(size):
                u, w = picks[t, i], picks[t, j]
                is_padding = j > 0 and w == picks[t, 0]
                out[t, i, j] = not is_padding and is_neighbour(indptr, indices, symmetric, u, w)
