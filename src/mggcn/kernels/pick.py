"""The picks S(v) of the paper's Algorithm 1: connected to the target, distinct, drawn in proportion to degree.

The weight of a pair of a node s and its neighbour w is the degree of w (the paper), 1 (uniform picks) or the weight of
the edge between them. To pick one node for the set S, draw a member s of S and a neighbour w of s with probability
proportional to the weight over all such pairs, and accept w unless it is in S already or is a neighbour of a member
that joined S before s. Each candidate is thus accepted through exactly one pair, that of the first member it is
connected to, so with probability proportional to its weight, which is Algorithm 1. After ``TRIALS`` rejections the
candidates are listed instead; trials are independent, so the pick is still exact, and an empty list means that the
component has no further node.

Two variants draw from fewer members: ``breadth`` from the target's neighbours only, ``depth`` from the neighbours of
the last pick only, so that S is a path.

The cost does not depend on the degrees: a pair is drawn by one search among the members' row totals and one in the
running sums of that row. Sums are integers, so that they are the same on all back ends; weights of edges are counted in
units of a power of two, see :class:`RunningSums`. Nearly all of a pick's time is waiting for memory, so targets are
drawn ``_TOGETHER`` at a time, read by read: reads for different targets do not depend on each other, and a core waits
for all of them at once.

The edges of the coarse grain are S(v) ∩ N(u) for every u in S(v): the sub-graphs that the sets of picks induce.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from mggcn._io import memory
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels import threads as threading
from mggcn.kernels._compiled import below, compiled, fold
from mggcn.keys import Key

Explore = Literal["both", "breadth", "depth"]
PickBy = Literal["degree", "uniform", "weight"]

TRIALS = 32
BOTH, BREADTH, DEPTH = 0, 1, 2

_CODES: dict[Explore, int] = {"both": BOTH, "breadth": BREADTH, "depth": DEPTH}
_ROWS = 1 << 14
_NEAR = 8
_LINE = 16  # int32 values in 64 bytes
_TOGETHER = 32
_MOST_PICKS = 1 << 12
_BITS = 50  # of the largest sum of a row, so that the sums of all members of S fit into 63 bits


@dataclass(frozen=True, eq=False)
class PickTable:
    """A graph prepared for drawing: for each stored neighbour, the running sum of the weights in its row.

    Attributes:
        graph: the graph to draw from.
        sums: [num_stored] running sums, int32 where they fit.
        names: [num_nodes] what identifies a node in the hashes of its draws; the node number when None.
    """

    graph: Graph
    sums: NDArray[Any]
    names: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls,
        graph: Graph,
        *,
        by: PickBy | NDArray[np.int64] = "degree",
        names: NDArray[np.int64] | None = None,
        threads: int | None = None,
    ) -> "PickTable":
        """Prepare a graph; ``by`` is as in :class:`RunningSums`, by default as in the paper."""
        running = RunningSums(graph, by, threads)
        sums = np.empty(graph.num_stored, running.dtype)
        first = 0
        for part in running:
            sums[first : first + part.size] = part
            first += part.size
        return cls(graph, sums, names)

    def draw(
        self, targets: NDArray[np.int64], picks: int, key: Key, *, explore: Explore = "both", threads: int | None = None
    ) -> NDArray[Any]:
        """Draw S(v) of every target.

        Args:
            targets: nodes.
            picks: the paper's M.
            key: of the draw.
            explore: draw from the neighbours of all members (``both``, the paper), of the target only (``breadth``) or
                of the last pick only (``depth``).
            threads: all cores when None; the result does not depend on it.

        Returns:
            [len(targets), 1 + picks] nodes, the target first, then its picks in order. If the component has fewer than
            ``picks`` other nodes (or, with breadth or depth, no candidate is left), the row is padded with its target.
        """
        graph, dtype = self.graph, self.graph.indices.dtype
        memory.require(
            targets.size * (1 + picks) * dtype.itemsize, f"{targets.size:,} targets with {picks:,} picks each"
        )
        check_picks(picks)
        out = np.empty((targets.size, 1 + picks), dtype)
        arrays = (graph.indptr, graph.indices, self.sums, graph.is_symmetric)
        names = targets if self.names is None else self.names[targets]
        fill = partial(_pick, *arrays, _CODES[explore], targets, names, np.uint64(key.value), out)
        threading.over_ranges(fill, targets.size, chunk=1024, threads=threads)
        return out

    def on(self, device: torch.device) -> "DevicePickTable":
        """Copy the table to a GPU."""
        arrays = (self.graph.indptr, self.graph.indices, self.sums)
        indptr, indices, sums = (torch.from_numpy(np.array(array)).to(device) for array in arrays)
        names = None if self.names is None else torch.from_numpy(self.names).to(device)
        return DevicePickTable(indptr, indices, sums, self.graph.is_symmetric, names)


def check_picks(picks: int) -> None:
    """Raise InputError for a number of picks that cannot be drawn."""
    if picks < 1:
        raise InputError(f"picks: {picks} is less than 1")
    if picks > _MOST_PICKS:
        raise InputError(f"picks: {picks:,} are more than {_MOST_PICKS:,}")


@dataclass(frozen=True, eq=False)
class RunningSums:
    """The running sums of a :class:`PickTable`; iterate over them to get those of some rows at a time.

    A weight of an edge is counted in units of 2^-``exponent``, rounded, and is at least one unit. The exponent is 0 if
    all weights are whole numbers and the largest sum of a row is below 2^31; else it is the one with which that sum has
    50 bits. So weights that are multiples of the unit are exact, and of d edges in a row that weigh W together none is
    drawn with a probability that is wrong by more than d units divided by W.

    Attributes:
        graph: the graph to draw from.
        by: what a neighbour weighs: its ``degree`` (the paper), the same as others (``uniform``), the ``weight`` of the
            edge to it, over all types and directions; or [num_nodes] positive integers, one for each node.
        threads: all cores when None; the sums do not depend on it.
    """

    graph: Graph
    by: PickBy | NDArray[np.int64] = "degree"
    threads: int | None = None

    @cached_property
    def dtype(self) -> "np.dtype[Any]":
        """The narrower of int32 and int64 that holds the running sums of all rows."""
        if self._nodes is None:
            return np.dtype(np.int32 if self.exponent == 0 and self._largest_weight[0] < 1 << 31 else np.int64)
        largest = np.zeros(-(-self.graph.num_nodes // _ROWS), np.int64)
        fill = partial(_largest_row_totals, self.graph.indptr, self.graph.indices, self._nodes, _ROWS, largest)
        threading.over_ranges(fill, self.graph.num_nodes, chunk=_ROWS, threads=self.threads)
        return np.dtype(np.int32 if largest.max(initial=0) <= np.iinfo(np.int32).max else np.int64)

    @cached_property
    def exponent(self) -> int:
        """The unit is 2 to the power of minus this; 0 unless picks are by weight."""
        if self._nodes is not None:
            return 0
        largest, is_whole = self._largest_weight
        return 0 if is_whole and largest < 1 << 31 else _BITS - math.frexp(largest)[1]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        for start, stop in self.graph.row_blocks():
            bounds = self.graph.indptr[start : stop + 1]
            sums = np.empty(bounds[-1] - bounds[0], self.dtype)
            per_node = self._nodes is not None
            values = self._nodes if self._nodes is not None else self._units(start, stop)
            neighbours = self.graph.indices[bounds[0] : bounds[-1]]
            fill = partial(_running_sums, bounds - bounds[0], neighbours, values, per_node, sums)
            threading.over_ranges(fill, stop - start, chunk=_ROWS, threads=self.threads)
            yield sums

    @cached_property
    def _nodes(self) -> NDArray[np.int64] | None:
        """[num_nodes] what a node weighs in every row; None if that depends on the edge."""
        if not isinstance(self.by, str):
            return self.by
        if self.by == "weight" and self.graph.relations is not None:
            return None
        return self.graph.degrees if self.by == "degree" else np.ones(self.graph.num_nodes, np.int64)

    @cached_property
    def _largest_weight(self) -> tuple[float, bool]:
        """The largest sum of the weights in a row, and whether all weights are whole numbers."""
        largest, is_whole = 0.0, True
        for start, stop in self.graph.row_blocks():
            weights = self.graph.neighbour_weights(start, stop).astype(np.float64)
            is_whole = is_whole and bool((weights == np.rint(weights)).all())
            filled = np.diff(self.graph.indptr[start : stop + 1]) > 0
            first = self.graph.indptr[start:stop][filled] - self.graph.indptr[start]
            largest = max(largest, np.add.reduceat(weights, first).max() if first.size else 0.0)
        return largest, is_whole

    def _units(self, start: int, stop: int) -> NDArray[np.int64]:
        weights = self.graph.neighbour_weights(start, stop).astype(np.float64)
        return np.maximum(np.rint(np.ldexp(weights, self.exponent)), 1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class DevicePickTable:
    """A :class:`PickTable` whose arrays are on a GPU."""

    indptr: Tensor
    indices: Tensor
    sums: Tensor
    symmetric: bool
    names: Tensor | None = None

    def draw(self, targets: Tensor, picks: int, key: Key, *, explore: Explore = "both") -> Tensor:
        """Draw S(v) of every target: [len(targets), 1 + picks], bit-identical to :meth:`PickTable.draw`."""
        return self.draw_rows(targets, picks, key, 1, explore=explore).view(-1, 1 + picks)

    def draw_rows(self, targets: Tensor, picks: int, key: Key, batch_size: int, *, explore: Explore = "both") -> Tensor:
        """Draw S(v) of every target in one launch, stored batch by batch, in each the targets first.

        Returns:
            [len(targets) · (1 + picks)]: a batch of b targets has b · (1 + picks) entries, member i of its target t
            at index i · b + t.
        """
        check_picks(picks)
        from mggcn.kernels.gpu import pick as gpu

        out = torch.empty(targets.numel() * (1 + picks), dtype=self.indices.dtype, device=self.indices.device)
        if targets.numel():
            gpu.pick(self, _CODES[explore], targets, picks, key, batch_size, out)
        return out


@njit(inline="always")
def _first_above(values, low, high, value, guess):
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


@njit(inline="always")
def entry_at(sums, start, stop, point):
    """The entry of the row start … stop - 1 that holds ``point``: the first whose running sum is above it."""
    guess = start + np.int64(np.float64(point) / np.float64(sums[stop - 1]) * np.float64(stop - start))
    return _first_above(sums, start, stop, point, min(guess, stop - 1))


@njit(inline="always")
def _search(indptr, symmetric, u, w):
    """Where to look for w in N(u), or for u in N(w) if the graph is symmetric and that row is shorter.

    Returns:
        The node to look for, the start and the end of the row, and where it would be if neighbours were evenly spread.
    """
    row, node = u, w
    if symmetric and indptr[w + 1] - indptr[w] < indptr[u + 1] - indptr[u]:
        row, node = w, u
    start, stop = indptr[row], indptr[row + 1]
    return np.int64(node), start, stop, start + np.int64(node) * (stop - start) // (indptr.size - 1)


@njit(inline="always")
def is_neighbour(indptr, indices, symmetric, u, w):
    """Whether w is in N(u)."""
    node, start, stop, guess = _search(indptr, symmetric, u, w)
    if start == stop:
        return False
    index = _first_above(indices, start, stop, node - 1, guess)
    return index < stop and indices[index] == node


@njit(inline="always")
def _is_candidate(indptr, indices, symmetric, members, size, first, index, w):
    for i in range(size):
        if members[i] == w:
            return False
    for i in range(first, index):  # noqa: SIM110
        if is_neighbour(indptr, indices, symmetric, members[i], w):
            return False
    return True


@njit(inline="always")
def _weight(indptr, sums, member, edge):
    """The weight of an edge in the row of a member."""
    return np.int64(sums[edge]) - (np.int64(sums[edge - 1]) if edge > indptr[member] else 0)


@njit
def pick_by_enumeration(indptr, indices, sums, symmetric, members, size, first, end, value):
    """List all candidates next to members first … end - 1 and take one by the hash ``value``; -1 if there is none."""
    total = np.int64(0)
    for index in range(first, end):
        for edge in range(indptr[members[index]], indptr[members[index] + 1]):
            if _is_candidate(indptr, indices, symmetric, members, size, first, index, indices[edge]):
                total += _weight(indptr, sums, members[index], edge)
    left = below(value, np.uint64(total))
    for index in range(first, end):
        for edge in range(indptr[members[index]], indptr[members[index] + 1]):
            if _is_candidate(indptr, indices, symmetric, members, size, first, index, indices[edge]):
                left -= _weight(indptr, sums, members[index], edge)
                if left < 0:
                    return indices[edge]
    return -1


@njit(inline="always")
def _read_around(values, guess):
    """Read a guess and the cache lines beside it, where the search will go."""
    return values[guess] + values[max(guess - _LINE, 0)] + values[min(guess + _LINE, values.size - 1)]


@njit(inline="always")
def _total(indptr, sums, members, first, end):
    """The sum of the weights next to members first … end - 1."""
    total = np.int64(0)
    for i in range(first, end):
        if indptr[members[i] + 1] > indptr[members[i]]:
            total += sums[indptr[members[i] + 1] - 1]
    return total


@njit(inline="always")
def _pair(indptr, sums, members, index, left):
    """The member whose neighbours hold the weight ``left``, counted from member ``index``; what is left; a guess."""
    while True:
        start, stop = indptr[members[index]], indptr[members[index] + 1]
        row_total = sums[stop - 1] if stop > start else 0
        if left < row_total:
            break
        left -= row_total
        index += 1
    guess = start + np.int64(np.float64(left) / np.float64(row_total) * np.float64(stop - start))
    return index, left, min(guess, stop - 1)


@njit(inline="always")
def _edge(indptr, sums, member, left, guess):
    return _first_above(sums, indptr[member], indptr[member + 1], left, guess)


@njit
def _further_trials(indptr, indices, sums, symmetric, explore, members, step, key):
    """The pick of a step whose first trial was rejected, or -1 if there is no candidate; ``key`` is the target's."""
    size = step + 1
    first = step if explore == DEPTH else 0
    end = 1 if explore == BREADTH else size
    total = _total(indptr, sums, members, first, end)
    for trial in range(1, TRIALS):
        point = below(fold(key, step * (TRIALS + 1) + trial), np.uint64(total))
        index, left, guess = _pair(indptr, sums, members, first, point)
        w = indices[_edge(indptr, sums, members[index], left, guess)]
        if _is_candidate(indptr, indices, symmetric, members, size, first, index, w):
            return w
    value = fold(key, step * (TRIALS + 1) + TRIALS)
    return pick_by_enumeration(indptr, indices, sums, symmetric, members, size, first, end, value)


@njit
def _first_trials(
    indptr, indices, sums, symmetric, explore, step, key, names, out, rows, count, index, found, left, read
):
    """Draw the first pair of a step for ``count`` rows of ``out``, and read what the checks of the pair will need.

    Returns:
        The number of rows that have a pair; they are the first ones of ``rows`` then, ``index`` holds the member and
        ``found`` the neighbour (on the way there the guess, then the edge). What is in ``read`` was only to be read.
    """
    first = step if explore == DEPTH else 0
    end = 1 if explore == BREADTH else step + 1
    remaining = 0
    for i in range(count):
        members = out[rows[i]]
        total = _total(indptr, sums, members, first, end)
        if total > 0:
            point = below(fold(fold(key, names[rows[i]]), step * (TRIALS + 1)), np.uint64(total))
            rows[remaining] = rows[i]
            index[remaining], left[remaining], found[remaining] = _pair(indptr, sums, members, first, point)
            remaining += 1
    for i in range(remaining):
        read[i] = _read_around(sums, found[i])
    for i in range(remaining):
        found[i] = _edge(indptr, sums, out[rows[i], index[i]], left[i], found[i])
    for i in range(remaining):
        found[i] = indices[found[i]]
    for i in range(remaining):
        read[i] = indptr[found[i] + 1]
    for i in range(remaining):
        read[i] = sums[read[i] - 1] if read[i] else 0
        for j in range(first, index[i]):
            _, start, stop, guess = _search(indptr, symmetric, out[rows[i], j], found[i])
            read[i] += _read_around(indices, guess) if stop > start else 0
    return remaining


@compiled
def _pick(indptr, indices, sums, symmetric, explore, targets, names, key, out, start, stop):
    """Fill rows start … stop of ``out`` [len(targets), 1 + picks]; ``names`` [len(targets)] are in the hashes."""
    space = np.empty((5, _TOGETHER), np.int64)
    rows, index, found, left, read = space[0], space[1], space[2], space[3], space[4]
    for begin in range(start, stop, _TOGETHER):
        count = min(_TOGETHER, stop - begin)
        for i in range(count):
            rows[i] = begin + i
            out[rows[i], :] = targets[rows[i]]
            read[i] = indptr[targets[rows[i]] + 1]
        for i in range(count):
            read[i] = sums[read[i] - 1] if read[i] else 0
        for step in range(out.shape[1] - 1):
            arrays = (indptr, indices, sums, symmetric, explore, step, key, names, out)
            drawn = _first_trials(*arrays, rows, count, index, found, left, read)
            count = 0
            for i in range(drawn):
                members, node = out[rows[i]], found[i]
                first = step if explore == DEPTH else 0
                if not _is_candidate(indptr, indices, symmetric, members, step + 1, first, index[i], node):
                    graph = (indptr, indices, sums, symmetric, explore)
                    node = _further_trials(*graph, members, step, fold(key, names[rows[i]]))
                if node >= 0:
                    members[step + 1] = node
                    rows[count] = rows[i]
                    count += 1


@compiled
def _running_sums(indptr, indices, weights, per_node, out, start, stop):
    """Fill ``out`` [num_stored], for rows start … stop, with the running sums of the neighbours' weights.

    There is one weight for each node if they are ``per_node``, else one for each entry.
    """
    for row in range(start, stop):
        total = np.int64(0)
        for edge in range(indptr[row], indptr[row + 1]):
            total += weights[indices[edge] if per_node else edge]
            out[edge] = total


@compiled
def _largest_row_totals(indptr, indices, weights, rows, out, start, stop):
    """Fill ``out`` with the largest sum of the neighbours' weights in every range of ``rows`` rows, from start on."""
    for row in range(start, stop):
        total = np.int64(0)
        for edge in range(indptr[row], indptr[row + 1]):
            total += weights[indices[edge]]
        out[row // rows] = max(out[row // rows], total)


def induce(graph: Graph, picks: NDArray[Any], *, threads: int | None = None) -> NDArray[np.bool_]:
    """Which members of each set of picks are neighbours: [b, s] nodes to [b, s, s], entry (t, i, j) for j in N(i)."""
    out = np.empty((*picks.shape, picks.shape[1]), bool)
    fill = partial(_induce, graph.indptr, graph.indices, graph.is_symmetric, picks, out)
    threading.over_ranges(fill, picks.shape[0], chunk=1024, threads=threads)
    return out


def induce_on(indptr: Tensor, indices: Tensor, symmetric: bool, members: Tensor) -> Tensor:
    """The same on a GPU: [s, b] members, targets first, to int8 [s · b, s], row ``i · b + t`` for member i of set t."""
    from mggcn.kernels.gpu import pick as gpu

    out = torch.empty(members.numel(), members.shape[0], dtype=torch.int8, device=members.device)
    gpu.induce(indptr, indices, symmetric, members, out)
    return out


@compiled
def _induce(indptr, indices, symmetric, picks, out, start, stop):
    """Fill sets start … stop of ``out`` [b, s, s]."""
    size = picks.shape[1]
    for t in range(start, stop):
        for i in range(size):
            for j in range(size):
                u, w = picks[t, i], picks[t, j]
                is_padding = j > 0 and w == picks[t, 0]
                out[t, i, j] = not is_padding and is_neighbour(indptr, indices, symmetric, u, w)
