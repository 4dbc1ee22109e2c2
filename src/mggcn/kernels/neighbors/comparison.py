"""Compares the back end of drawn neighbours with its reference; raises AssertionError if they differ."""

import numpy as np

from mggcn.graph import Graph
from mggcn.kernels._compiled import Ints
from mggcn.kernels.neighbors import draw_neighbours, reference
from mggcn.keys import Key


def on_cpu(
    graph: Graph, receivers: Ints, fanout: int, key: Key, *, include_self: bool, names: Ints | None = None
) -> None:
    """Compare the neighbours drawn for every receiver, bit for bit."""
    indptr, senders = draw_neighbours(graph, receivers, fanout, key, include_self=include_self, names=names)
    drawn = reference.draw(graph, receivers.tolist(), fanout, key, None if names is None else names.tolist())
    expected = [[node] * include_self + row for node, row in zip(receivers.tolist(), drawn, strict=True)]
    np.testing.assert_array_equal(np.diff(indptr), [len(row) for row in expected])
    np.testing.assert_array_equal(senders, [sender for row in expected for sender in row])
