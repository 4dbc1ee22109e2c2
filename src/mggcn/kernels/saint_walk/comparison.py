"""Compares the back end of GraphSAINT's walks with its reference, bit for bit; raises AssertionError if they differ."""

import numpy as np

from mggcn.graph import Graph
from mggcn.kernels._compiled import Ints
from mggcn.kernels.saint_walk import fill_walks, reference, visited
from mggcn.keys import Key


def on_cpu(graph: Graph, pool: Ints, walks: int, length: int, key: Key) -> None:
    """Compare every step of the walks, and the set of nodes they visit."""
    expected = np.array(reference.walk(graph, pool.tolist(), walks, length, key))
    paths = np.empty((walks, 1 + length), np.int64)
    fill_walks(graph.indptr, graph.indices, pool, np.uint64(key.value), paths)
    np.testing.assert_array_equal(paths, expected)
    np.testing.assert_array_equal(visited(graph, pool, walks, length, key), np.unique(expected))
