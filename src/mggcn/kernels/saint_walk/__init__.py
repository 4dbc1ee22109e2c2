"""The nodes visited by random walks from random roots: GraphSAINT's random-walk sampler."""

import numpy as np
from numpy.typing import NDArray

from mggcn.graph import Graph
from mggcn.kernels.saint_walk import cpu
from mggcn.keys import Key


def visited(graph: Graph, pool: NDArray[np.int64], walks: int, length: int, key: Key) -> NDArray[np.int64]:
    """The distinct nodes of uniform walks, in ascending order.

    Args:
        graph: to walk on; a step goes from a node to one of the nodes in its row.
        pool: the nodes among which roots are drawn uniformly, with replacement.
        walks: the number of roots.
        length: the steps of a walk.
        key: of the draws.
    """
    paths = np.empty((walks, 1 + length), np.int64)
    cpu.walk(graph.indptr, graph.indices, pool, np.uint64(key.value), paths)
    member = np.zeros(graph.num_nodes, bool)
    member[paths] = True
    return np.flatnonzero(member)
