"""The pick kernel in numba: bit-identical to the reference, with a cost that does not depend on the degrees.

A pair (member, neighbour) is drawn by one search among the members' row totals and one in the running sums of that row.
"""

from typing import Any

import numpy as np
from numba import njit

from mggcn.kernels._compiled import AnyInts, Ints, compiled
from mggcn.kernels.hashing import below, fold
from mggcn.kernels.pick.reference import BREADTH, DEPTH, TRIALS

_NEAR = 8


@njit(inline="always")  # type: ignore[untyped-decorator]
def _first_above(values: Any, low: Any, high: Any, value: Any, guess: Any) -> Any:
    """The first index in sorted values[low … high - 1] above ``value``, searched in growing steps around a guess.

    A good guess saves most of the memory accesses of a binary search, which are the main cost of a pick.
    """
    step = _NEAR
    if values[guess] > value:
        high = guess
        while high - low > step:
            if values[high - step] > value:
                high -= step
                step *= 2
            else:
                low = high - step + 1
    else:
        low = guess + 1
        while high - low > step:
            if values[low + step] > value:
                high = low + step
            else:
                low += step + 1
                step *= 2
    while low < high:
        middle = (low + high) // 2
        if values[middle] > value:
            high = middle
        else:
            low = middle + 1
    return low


@njit(inline="always")  # type: ignore[untyped-decorator]
def _row_holds(indptr: Any, indices: Any, row: Any, node: Any) -> Any:
    """Whether a sorted row holds a node; the search starts where the node would be if neighbours were evenly spread."""
    start, stop = indptr[row], indptr[row + 1]
    if start == stop:
        return False
    guess = start + np.int64(node) * (stop - start) // (indptr.size - 1)
    index = _first_above(indices, start, stop, node - 1, guess)
    return index < stop and indices[index] == node


@njit(inline="always")  # type: ignore[untyped-decorator]
def is_neighbour(indptr: Any, indices: Any, symmetric: Any, u: Any, w: Any) -> Any:
    """Whether w is in N(u); in a symmetric graph, the shorter of the two rows is searched."""
    shorter = symmetric and indptr[w + 1] - indptr[w] < indptr[u + 1] - indptr[u]
    return _row_holds(indptr, indices, w, u) if shorter else _row_holds(indptr, indices, u, w)


@njit(inline="always")  # type: ignore[untyped-decorator]
def _is_candidate(
    indptr: Any, indices: Any, symmetric: Any, members: Any, size: Any, first: Any, index: Any, w: Any
) -> Any:
    for i in range(size):
        if members[i] == w:
            return False
    for i in range(first, index):  # noqa: SIM110
        if is_neighbour(indptr, indices, symmetric, members[i], w):
            return False
    return True


@njit  # type: ignore[untyped-decorator]
def pick_by_enumeration(
    indptr: Any, indices: Any, weights: Any, symmetric: Any, members: Any, size: Any, first: Any, end: Any, value: Any
) -> Any:
    """List all candidates next to members first … end - 1 and take one by the hash ``value``; -1 if there is none."""
    total = np.int64(0)
    for index in range(first, end):
        for edge in range(indptr[members[index]], indptr[members[index] + 1]):
            if _is_candidate(indptr, indices, symmetric, members, size, first, index, indices[edge]):
                total += weights[indices[edge]]
    left = below(value, np.uint64(total))
    for index in range(first, end):
        for edge in range(indptr[members[index]], indptr[members[index] + 1]):
            if _is_candidate(indptr, indices, symmetric, members, size, first, index, indices[edge]):
                left -= weights[indices[edge]]
                if left < 0:
                    return indices[edge]
    return -1


@njit  # type: ignore[untyped-decorator]
def _draw(
    indptr: Any, indices: Any, sums: Any, weights: Any, symmetric: Any, explore: Any, members: Any, step: Any, key: Any
) -> Any:
    """The pick of a step, or -1 if there is no candidate; ``key`` is that of the target's draws."""
    size = step + 1
    first = step if explore == DEPTH else 0
    end = 1 if explore == BREADTH else size
    total = np.int64(0)
    for i in range(first, end):
        if indptr[members[i] + 1] > indptr[members[i]]:
            total += sums[indptr[members[i] + 1] - 1]
    if total == 0:
        return -1
    for trial in range(TRIALS):
        left = below(fold(key, step * (TRIALS + 1) + trial), np.uint64(total))
        index = first
        while True:
            start, stop = indptr[members[index]], indptr[members[index] + 1]
            row_total = sums[stop - 1] if stop > start else 0
            if left < row_total:
                break
            left -= row_total
            index += 1
        guess = start + np.int64(np.float64(left) / np.float64(row_total) * np.float64(stop - start))
        w = indices[_first_above(sums, start, stop, left, min(guess, stop - 1))]
        if _is_candidate(indptr, indices, symmetric, members, size, first, index, w):
            return w
    value = fold(key, step * (TRIALS + 1) + TRIALS)
    return pick_by_enumeration(indptr, indices, weights, symmetric, members, size, first, end, value)


@compiled
def pick(
    indptr: Ints,
    indices: AnyInts,
    sums: AnyInts,
    weights: Ints,
    symmetric: bool,
    explore: int,
    targets: Ints,
    key: np.uint64,
    out: AnyInts,
    start: int,
    stop: int,
) -> None:
    """Fill rows start … stop of ``out`` [len(targets), 1 + picks]."""
    for row in range(start, stop):
        target = targets[row]
        stream = fold(key, target)
        members = out[row]
        members[:] = target
        for step in range(members.size - 1):
            node = _draw(indptr, indices, sums, weights, symmetric, explore, members, step, stream)
            if node < 0:
                break
            members[step + 1] = node


@compiled
def running_sums(indptr: Ints, indices: AnyInts, weights: Ints, out: AnyInts, start: int, stop: int) -> None:
    """Fill ``out`` [num_stored], for rows start … stop, with the running sums of the neighbours' weights."""
    for row in range(start, stop):
        total = np.int64(0)
        for edge in range(indptr[row], indptr[row + 1]):
            total += weights[indices[edge]]
            out[edge] = total


@compiled
def largest_row_totals(
    indptr: Ints, indices: AnyInts, weights: Ints, rows: int, out: Ints, start: int, stop: int
) -> None:
    """Fill ``out`` with the largest sum of the neighbours' weights in every range of ``rows`` rows, from start on."""
    for row in range(start, stop):
        total = np.int64(0)
        for edge in range(indptr[row], indptr[row + 1]):
            total += weights[indices[edge]]
        out[row // rows] = max(out[row // rows], total)
