"""Random walks over a graph: uniform ones of DeepWalk and second-order ones of node2vec."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels import threads as threading
from mggcn.kernels.walk import cpu
from mggcn.kernels.walk.reference import END, integer_weights
from mggcn.keys import Key

__all__ = ["END", "walk"]

_CHUNK_WALKS = 1024


def walk(
    graph: Graph,
    starts: NDArray[np.int64],
    length: int,
    key: Key,
    *,
    p: float = 1.0,
    q: float = 1.0,
    threads: int | None = None,
) -> NDArray[Any]:
    """Walk from every start, to neighbours along the rows of the graph.

    Args:
        graph: to walk on.
        starts: [n] nodes.
        length: of a walk, in nodes.
        key: of the draws; walk number i is the same in any company.
        p: node2vec's return parameter: the smaller, the more often a walk goes back to where it came from.
        q: node2vec's in-out parameter: the smaller, the further a walk goes away; p = q = 1 is the uniform walk.
        threads: of the CPU, all when None; the walks do not depend on it.

    Returns:
        [n, length] nodes, the start first. A walk ends at a node without neighbours; its other places hold ``END``.
    """
    if length < 1:
        raise InputError(f"length: {length} is less than 1")
    for name, value in (("p", p), ("q", q)):
        if not (math.isfinite(value) and value > 0):
            raise InputError(f"{name}: {value} is not a positive number")
    out = np.empty((starts.size, length), graph.indices.dtype)
    arrays = (graph.indptr, graph.indices, graph.direction == "both", starts, *integer_weights(p, q))

    def fill(start: int, stop: int) -> None:
        cpu.walk(*arrays, np.uint64(key.value), out, start, stop)

    threading.over_ranges(fill, starts.size, chunk=_CHUNK_WALKS, threads=threads)
    return out
