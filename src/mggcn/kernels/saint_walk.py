"""The nodes visited by random walks from random roots: GraphSAINT's random-walk sampler.

Walks are uniform; one that reaches a node without neighbours stays there. Every draw is a hash of (key, walk, step);
step 0 draws the root.
"""

import numpy as np

from mggcn.graph import Graph
from mggcn.kernels._compiled import AnyInts, Ints, compiled
from mggcn.kernels.hashing import below, fold
from mggcn.keys import Key


def visited(graph: Graph, pool: Ints, walks: int, length: int, key: Key) -> Ints:
    """The distinct nodes of uniform walks, in ascending order.

    Args:
        graph: to walk on; a step goes from a node to one of the nodes in its row.
        pool: the nodes among which roots are drawn uniformly, with replacement.
        walks: the number of roots.
        length: the steps of a walk.
        key: of the draws.
    """
    paths = np.empty((walks, 1 + length), np.int64)
    fill_walks(graph.indptr, graph.indices, pool, np.uint64(key.value), paths)
    member = np.zeros(graph.num_nodes, bool)
    member[paths] = True
    return np.flatnonzero(member)


@compiled
def fill_walks(indptr: Ints, indices: AnyInts, pool: Ints, key: np.uint64, out: Ints) -> None:
    """Fill ``out`` [walks, 1 + length] with the nodes of each walk."""
    for number in range(out.shape[0]):
        stream = fold(key, number)
        node = pool[below(fold(stream, 0), np.uint64(pool.size))]
        out[number, 0] = node
        for step in range(1, out.shape[1]):
            size = indptr[node + 1] - indptr[node]
            if size > 0:
                node = np.int64(indices[indptr[node] + below(fold(stream, step), np.uint64(size))])
            out[number, step] = node
