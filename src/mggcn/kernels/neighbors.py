"""Neighbours drawn uniformly without replacement, in a random order: GraphSAGE's fan-outs.

Each receiver's row of the graph is shuffled from the front (Fisher and Yates) and cut after ``fanout`` steps, so that
every ordered selection of neighbours is equally likely. Step i of receiver v uses the hash of (key, name of v, i);
its name is what depends on its id, or its number without ids. Cost and memory do not depend on the degrees: a row
longer than the fan-out is never copied, only the positions that the shuffle has changed are stored.
"""

from functools import partial
from typing import Any

import numpy as np
from numba import njit

from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels import threads as threading
from mggcn.kernels._compiled import AnyInts, Ints, compiled
from mggcn.kernels.hashing import below, fold
from mggcn.keys import Key


def draw_neighbours(
    graph: Graph,
    receivers: Ints,
    fanout: int,
    key: Key,
    *,
    include_self: bool = False,
    names: Ints | None = None,
    threads: int | None = None,
) -> tuple[Ints, AnyInts]:
    """Draw at most ``fanout`` neighbours of every receiver, uniformly and without replacement, in a random order.

    Args:
        graph: whose rows list the neighbours.
        receivers: [n] nodes.
        fanout: neighbours per receiver; a receiver with fewer neighbours has all of them.
        key: of the draw; the neighbours of a receiver do not depend on the other receivers.
        include_self: list the receiver itself before its neighbours.
        names: [num_nodes] what identifies a node in the hashes of its draws; the node number when None.
        threads: all cores when None; the result does not depend on it.

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
    fill = partial(_draw, *arrays)
    threading.over_ranges(fill, receivers.size, chunk=2048, threads=threads)
    return starts, out


@njit  # type: ignore[untyped-decorator]
def _shuffle(row: Any, stream: Any, out: Any) -> None:
    """Fill ``out`` with the whole of ``row``, shuffled."""
    size = row.size
    out[:] = row
    for step in range(size):
        other = step + below(fold(stream, step), np.uint64(size - step))
        out[step], out[other] = out[other], out[step]


@njit  # type: ignore[untyped-decorator]
def _cut_shuffle(row: Any, stream: Any, taken: Any, moved: Any, out: Any) -> None:
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
def _draw(
    indptr: Ints,
    indices: AnyInts,
    receivers: Ints,
    names: Ints,
    fanout: int,
    lead: int,
    key: np.uint64,
    starts: Ints,
    out: AnyInts,
    start: int,
    stop: int,
) -> None:
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
