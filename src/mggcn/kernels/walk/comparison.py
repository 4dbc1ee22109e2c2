"""Compares the back end of random walks with its reference, bit for bit; raises AssertionError if they differ."""

import numpy as np

from mggcn.graph import Graph
from mggcn.kernels.walk import reference, walk
from mggcn.keys import Key


def on_cpu(graph: Graph, length: int, key: Key, *, p: float, q: float) -> None:
    """Compare a walk from every node."""
    starts = np.arange(graph.num_nodes)
    expected = reference.walk(graph, starts.tolist(), length, key, p, q)
    np.testing.assert_array_equal(walk(graph, starts, length, key, p=p, q=q), expected)
