"""Neighbours drawn without replacement: GraphSAGE's fan-outs, in a random order, and VR-GCN's subsets.

Each receiver's row of the graph is shuffled from the front (Fisher and Yates) and cut after ``fanout`` steps, so that
every ordered selection of neighbours is equally likely. Step i of receiver v uses the hash of (key, name of v, i);
its name is what depends on its id, or its number without ids. Cost and memory do not depend on the degrees: a row
longer than the fan-out is never copied, only the positions that the shuffle has changed are stored. A subset of the
entries of each row, whose order does not matter, is drawn by Floyd's algorithm.

By weight, step i draws one of the neighbours that are left in proportion to the weight of its edge, with the same hash:
a point on the line on which they lie one after the other, in the order of the row. That line is the row's running sums
without the pieces of neighbours drawn before, so that a point is found by moving it past those pieces, in their order,
and one search; nothing is rejected. The cost of a step depends on the fan-out but not on the degree.
"""

from functools import partial

import numpy as np
from numba import njit

from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels import threads as threading
from mggcn.kernels._compiled import AnyInts, Ints, below, compiled, fold
from mggcn.kernels.pick import entry_at
from mggcn.keys import Key


def draw_neighbours(
    graph: Graph,
    receivers: Ints,
    fanout: int,
    key: Key,
    *,
    include_self: bool = False,
    names: Ints | None = None,
    sums: AnyInts | None = None,
    threads: int | None = None,
) -> tuple[Ints, AnyInts]:
    """Draw at most ``fanout`` neighbours of every receiver [n], without replacement, in a random order.

    They do not depend on the other receivers nor on the number of threads. ``names`` [num_nodes] identify nodes in the
    hashes; ``include_self`` lists the receiver itself before its neighbours. Draws are uniform, or by weight if there
    are the running ``sums`` [num_stored] of :class:`mggcn.kernels.pick.PickTable`.

    Returns:
        [n + 1] the start of each receiver's senders, and [num_edges] the senders.
    """
    if fanout < 1:
        raise InputError(f"fanout: {fanout} is less than 1")
    lead = int(include_self)
    degrees = graph.indptr[receivers + 1] - graph.indptr[receivers]
    fanout = min(fanout, int(degrees.max(initial=1)))
    starts = np.zeros(receivers.size + 1, np.int64)
    np.cumsum(np.minimum(degrees, fanout) + lead, out=starts[1:])
    out = np.empty(int(starts[-1]), graph.indices.dtype)
    of_receivers = receivers if names is None else names[receivers]
    arrays = (graph.indptr, graph.indices, receivers, of_receivers, fanout, lead, np.uint64(key.value), starts, out)
    fill = partial(_draw, *arrays) if sums is None else partial(_draw_by_weight, sums, *arrays)
    threading.over_ranges(fill, receivers.size, chunk=2048, threads=threads)
    return starts, out


@njit
def _shuffle(row, stream, out):
    """Fill ``out`` with the whole of ``row``, shuffled."""
    size = row.size
    out[:] = row
    for step in range(size):
        other = step + below(fold(stream, step), np.uint64(size - step))
        out[step], out[other] = out[other], out[step]


@njit
def _cut_shuffle(row, stream, taken, moved, out):
    """Fill ``out`` with the front of the shuffled ``row``; what step i moved away is now at position taken[i]."""
    for step in range(out.size):
        other = step + below(fold(stream, step), np.uint64(row.size - step))
        here, there = step, other
        for earlier in range(step):
            if taken[earlier] == step:
                here = moved[earlier]
            if taken[earlier] == other:
                there = moved[earlier]
        taken[step], moved[step] = other, here
        out[step] = row[there]


@compiled
def _draw(indptr, indices, receivers, names, fanout, lead, key, starts, out, start, stop):
    """Fill the rows start … stop of ``out``, which begin at ``starts``; ``lead`` is 1 to put the receiver first.

    ``names`` [len(receivers)] are in the hashes.
    """
    taken, moved = np.empty(fanout, np.int64), np.empty(fanout, np.int64)
    for number in range(start, stop):
        node = receivers[number]
        row = indices[indptr[node] : indptr[node + 1]]
        out[starts[number] : starts[number] + lead] = node
        part = out[starts[number] + lead : starts[number + 1]]
        if row.size <= fanout:
            _shuffle(row, fold(key, names[number]), part)
        else:
            _cut_shuffle(row, fold(key, names[number]), taken, moved, part)


@compiled
def _draw_by_weight(sums, indptr, indices, receivers, names, fanout, lead, key, starts, out, start, stop):
    """As :func:`_draw`, but in proportion to the weights of which ``sums`` [num_stored] has the running sums."""
    taken = np.empty(fanout, np.int64)  # entries of the row that were drawn, in ascending order
    for number in range(start, stop):
        node = receivers[number]
        first, end = indptr[node], indptr[node + 1]
        out[starts[number] : starts[number] + lead] = node
        part = out[starts[number] + lead : starts[number + 1]]
        stream, left = fold(key, names[number]), np.int64(sums[end - 1]) if end > first else np.int64(0)
        for step in range(part.size):
            point, position = below(fold(stream, step), np.uint64(left)), 0
            while position < step:
                before = np.int64(sums[taken[position] - 1]) if taken[position] > first else np.int64(0)
                if point < before:
                    break
                point += np.int64(sums[taken[position]]) - before
                position += 1
            entry = entry_at(sums, first, end, point)
            taken[position + 1 : step + 1] = taken[position:step].copy()
            taken[position] = entry
            left -= np.int64(sums[entry]) - (np.int64(sums[entry - 1]) if entry > first else np.int64(0))
            part[step] = indices[entry]


def subset(indptr: AnyInts, names: Ints, most: int, key: Key) -> tuple[Ints, Ints]:
    """Draw ``most`` distinct entries of every row, or all of them if it has no more.

    Rows, which start at ``indptr`` [n + 1], draw the same positions if they have the same size and name [n].

    Returns:
        [n + 1] the start of each row's draws, and the indices of the entries drawn.
    """
    out_indptr = np.zeros(names.size + 1, np.int64)
    np.cumsum(np.minimum(np.diff(indptr), most), out=out_indptr[1:])
    out = np.empty(out_indptr[-1], np.int64)
    _subset(indptr, names, np.uint64(key.value), out_indptr, out)
    return out_indptr, out


@compiled
def _subset(indptr, names, key, out_indptr, out):
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
