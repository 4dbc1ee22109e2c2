"""Neighbours drawn uniformly without replacement: GraphSAGE's fan-outs."""

from functools import partial

import numpy as np

from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels import threads as threading
from mggcn.kernels._compiled import AnyInts, Ints
from mggcn.kernels.neighbors import cpu
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
    fill = partial(cpu.draw, *arrays)
    threading.over_ranges(fill, receivers.size, chunk=2048, threads=threads)
    return starts, out
