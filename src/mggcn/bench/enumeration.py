"""Algorithm 1 of the paper by plain enumeration, every pick from a list of all candidates: the kernel's yardstick."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mggcn.kernels.pick import PickTable
from mggcn.kernels.pick.cpu import _enumerate, _fold
from mggcn.keys import Key


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _fill(
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    weights: NDArray[np.int64],
    symmetric: bool,
    targets: NDArray[np.int64],
    key: np.uint64,
    out: NDArray[Any],
) -> None:
    for row in range(targets.size):
        stream = _fold(key, targets[row])
        chosen = out[row]
        chosen[:] = targets[row]
        for step in range(chosen.size - 1):
            found = _enumerate(indptr, indices, weights, symmetric, chosen, step + 1, _fold(stream, step))
            if found < 0:
                break
            chosen[step + 1] = found


def draw(table: PickTable, targets: NDArray[np.int64], picks: int, key: Key) -> NDArray[Any]:
    """Draw S(v) of every target on one thread; the same law as :meth:`PickTable.draw`, from other random numbers."""
    graph, out = table.graph, np.empty((targets.size, 1 + picks), table.graph.indices.dtype)
    symmetric = graph.direction == "both"
    _fill(graph.indptr, graph.indices, table.weights, symmetric, targets, np.uint64(key.value), out)
    return out
