"""Algorithm 1 of the paper by plain enumeration, the kernel's yardstick: all candidates are listed, one is chosen.

Every pick lists the neighbours of all members anew; or the list is kept from pick to pick and grows by the neighbours
of the member that joined, so that every neighbourhood is read once for each target. Both mark the listed nodes in an
array as long as the graph. The kernel's own enumeration, which it falls back to, needs no such array and searches the
members' rows for each neighbour instead.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mggcn.kernels.hashing import below, fold
from mggcn.kernels.pick import PickTable
from mggcn.kernels.pick.cpu import _enumerate
from mggcn.keys import Key


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _fill(
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    weights: NDArray[np.int64],
    targets: NDArray[np.int64],
    key: np.uint64,
    keep: bool,
    out: NDArray[Any],
    seen: NDArray[np.int32],
    listed: NDArray[Any],
) -> None:
    mark = np.int32(0)
    for row in range(targets.size):
        stream = fold(key, targets[row])
        chosen = out[row]
        chosen[:] = targets[row]
        count, total = 0, np.int64(0)
        for step in range(chosen.size - 1):
            first = step if keep else 0
            if first == 0:
                mark += np.int32(1)
                count, total = 0, np.int64(0)
                for place in range(step + 1):
                    seen[chosen[place]] = mark
            for place in range(first, step + 1):
                for edge in range(indptr[chosen[place]], indptr[chosen[place] + 1]):
                    w = indices[edge]
                    if seen[w] != mark:
                        seen[w] = mark
                        listed[count] = w
                        count += 1
                        total += weights[w]
            if count == 0:
                break
            left = below(fold(stream, step), np.uint64(total))
            place = 0
            while left >= weights[listed[place]]:
                left -= weights[listed[place]]
                place += 1
            chosen[step + 1] = listed[place]
            total -= weights[listed[place]]
            count -= 1
            listed[place] = listed[count]


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _fill_by_search(
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    weights: NDArray[np.int64],
    symmetric: bool,
    targets: NDArray[np.int64],
    key: np.uint64,
    out: NDArray[Any],
) -> None:
    for row in range(targets.size):
        stream = fold(key, targets[row])
        chosen = out[row]
        chosen[:] = targets[row]
        for step in range(chosen.size - 1):
            found = _enumerate(indptr, indices, weights, symmetric, chosen, step + 1, 0, step + 1, fold(stream, step))
            if found < 0:
                break
            chosen[step + 1] = found


def draw(table: PickTable, targets: NDArray[np.int64], picks: int, key: Key, *, keep: bool = False) -> NDArray[Any]:
    """Draw S(v) of every target on one thread; the same law as :meth:`PickTable.draw`, from other random numbers."""
    graph, out = table.graph, np.empty((targets.size, 1 + picks), table.graph.indices.dtype)
    seen, listed = np.zeros(graph.num_nodes, np.int32), np.empty(graph.num_nodes, graph.indices.dtype)
    _fill(graph.indptr, graph.indices, table.weights, targets, np.uint64(key.value), keep, out, seen, listed)
    return out


def draw_by_search(table: PickTable, targets: NDArray[np.int64], picks: int, key: Key) -> NDArray[Any]:
    """The same by the kernel's own enumeration."""
    graph, out = table.graph, np.empty((targets.size, 1 + picks), table.graph.indices.dtype)
    arrays = (graph.indptr, graph.indices, table.weights, graph.direction == "both")
    _fill_by_search(*arrays, targets, np.uint64(key.value), out)
    return out
