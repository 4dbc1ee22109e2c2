"""Compares the back end of the sub-graph with its reference; raises AssertionError if they differ."""

import numpy as np

from mggcn.graph import Graph
from mggcn.kernels._compiled import Ints
from mggcn.kernels.subgraph import reference, subgraph


def on_cpu(graph: Graph, nodes: Ints) -> None:
    """Compare the sub-graph of distinct nodes."""
    part = subgraph(graph, nodes)
    for array, expected in zip(
        (part.indptr, part.indices, part.entries), reference.subgraph(graph, nodes.tolist()), strict=True
    ):
        np.testing.assert_array_equal(array, expected)
