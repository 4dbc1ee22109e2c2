"""Compares the back end of relabelled edges with its reference; raises AssertionError if they differ."""

import numpy as np

from mggcn.kernels._compiled import AnyInts
from mggcn.kernels.relabel import block_between, distinct, reference


def on_cpu(receivers: AnyInts, indptr: AnyInts, senders: AnyInts, num_nodes: int) -> None:
    """Compare the rows of a block's senders and the nodes of its rows, and the distinct senders."""
    block, nodes = block_between(receivers, indptr, senders, num_nodes)
    rows, expected = reference.relabel(receivers.tolist(), senders.tolist())
    np.testing.assert_array_equal(block.indices.numpy(), rows)
    np.testing.assert_array_equal(nodes, expected)
    np.testing.assert_equal(block.num_src, len(expected))
    found, index = distinct(senders, num_nodes)
    rows, expected = reference.relabel([], senders.tolist())
    np.testing.assert_array_equal(index, rows)
    np.testing.assert_array_equal(found, expected)
