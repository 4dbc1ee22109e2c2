"""Random walks over a graph: the uniform walks of DeepWalk and the second-order walks of node2vec."""

import math
from functools import partial

import numpy as np

from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels import threads as threading
from mggcn.kernels._compiled import AnyInts, Ints
from mggcn.kernels.walk import cpu
from mggcn.kernels.walk.reference import END, integer_weights
from mggcn.keys import Key

__all__ = ["END", "walk"]


def walk(
    graph: Graph, starts: Ints, length: int, key: Key, *, p: float = 1.0, q: float = 1.0, threads: int | None = None
) -> AnyInts:
    """Start a random walk at every start node.

    Args:
        graph: to walk on.
        starts: [n] nodes.
        length: the number of nodes of a walk.
        key: of the draws; walk number i does not depend on the other walks.
        p: node2vec's return parameter: the smaller it is, the more often a walk returns to the node before.
        q: node2vec's in-out parameter: the smaller it is, the further a walk moves away; p = q = 1 is the uniform walk.
        threads: all cores when None; the walks do not depend on it.

    Returns:
        [n, length] nodes, the start first. A walk ends at a node without neighbours; the rest of its row is ``END``.
    """
    if length < 1:
        raise InputError(f"length: {length} is less than 1")
    for name, value in (("p", p), ("q", q)):
        if not (math.isfinite(value) and value > 0):
            raise InputError(f"{name}: {value} is not a positive number")
    out = np.empty((starts.size, length), graph.indices.dtype)
    arrays = (graph.indptr, graph.indices, graph.direction == "both", starts, *integer_weights(p, q))
    fill = partial(cpu.walk, *arrays, np.uint64(key.value), out)
    threading.over_ranges(fill, starts.size, chunk=1024, threads=threads)
    return out
