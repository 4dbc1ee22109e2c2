"""Algorithm 1 of the paper by plain enumeration, for comparison with the kernel: list all candidates, draw one.

Every pick lists the neighbours of all members again; or, with ``keep``, the list is kept from pick to pick and grows by
the neighbours of the new member, so that every neighbourhood is read once per target. Both mark the listed nodes in an
array as long as the graph. The enumeration inside the kernel, its fallback, needs no such array and searches the
members' rows for each neighbour instead.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mggcn.kernels.hashing import below, fold
from mggcn.kernels.pick import PickTable
from mggcn.kernels.pick.cpu import pick_by_enumeration
from mggcn.keys import Key

Ints = NDArray[np.int64]
AnyInts = NDArray[Any]


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _fill(
    indptr: Ints, indices: AnyInts, weights: Ints, targets: Ints, key: np.uint64, keep: bool, out: AnyInts
) -> None:
    num_nodes, mark = indptr.size - 1, np.int32(0)
    seen, listed = np.zeros(num_nodes, np.int32), np.empty(num_nodes, indices.dtype)
    for row in range(targets.size):
        stream = fold(key, targets[row])
        members = out[row]
        members[:] = targets[row]
        count, total = 0, np.int64(0)
        for step in range(members.size - 1):
            first = step if keep else 0
            if first == 0:
                mark += np.int32(1)
                count, total = 0, np.int64(0)
                for i in range(step + 1):
                    seen[members[i]] = mark
            for i in range(first, step + 1):
                for edge in range(indptr[members[i]], indptr[members[i] + 1]):
                    w = indices[edge]
                    if seen[w] != mark:
                        seen[w] = mark
                        listed[count] = w
                        count += 1
                        total += weights[w]
            if count == 0:
                break
            left = below(fold(stream, step), np.uint64(total))
            i = 0
            while left >= weights[listed[i]]:
                left -= weights[listed[i]]
                i += 1
            members[step + 1] = listed[i]
            total -= weights[listed[i]]
            count -= 1
            listed[i] = listed[count]


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _fill_by_search(
    indptr: Ints, indices: AnyInts, weights: Ints, symmetric: bool, targets: Ints, key: np.uint64, out: AnyInts
) -> None:
    for row in range(targets.size):
        stream = fold(key, targets[row])
        members = out[row]
        members[:] = targets[row]
        for step in range(members.size - 1):
            n, value = step + 1, fold(stream, step)
            node = pick_by_enumeration(indptr, indices, weights, symmetric, members, n, 0, n, value)
            if node < 0:
                break
            members[step + 1] = node


def draw(table: PickTable, targets: Ints, picks: int, key: Key, *, keep: bool = False) -> AnyInts:
    """Draw S(v) of every target on one thread: the distribution of :meth:`PickTable.draw`, other random numbers."""
    graph, out = table.graph, np.empty((targets.size, 1 + picks), table.graph.indices.dtype)
    _fill(graph.indptr, graph.indices, table.weights, targets, np.uint64(key.value), keep, out)
    return out


def draw_by_search(table: PickTable, targets: Ints, picks: int, key: Key) -> AnyInts:
    """The same with the enumeration inside the kernel."""
    graph, out = table.graph, np.empty((targets.size, 1 + picks), table.graph.indices.dtype)
    arrays = (graph.indptr, graph.indices, table.weights, graph.direction == "both")
    _fill_by_search(*arrays, targets, np.uint64(key.value), out)
    return out
