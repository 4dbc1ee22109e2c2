"""Compares the back ends of the picks with their reference, bit for bit; they raise AssertionError if they differ."""

import numpy as np
import torch

from mggcn.graph import Graph
from mggcn.kernels._compiled import Ints
from mggcn.kernels.pick import Explore, PickTable, reference
from mggcn.keys import Key


def on_cpu(
    graph: Graph,
    picks: int,
    key: Key,
    *,
    explore: Explore = "both",
    weights: Ints | None = None,
    names: Ints | None = None,
) -> None:
    """Compare the picks of all nodes, drawn by ``weights``, the degrees when None."""
    table = PickTable.of(graph, weights=weights, names=names)
    drawn = table.draw(np.arange(graph.num_nodes), picks, key, explore=explore)
    np.testing.assert_array_equal(drawn, _expected(table, picks, key, explore))


def on_gpu(
    graph: Graph, picks: int, key: Key, device: torch.device, *, explore: Explore = "both", names: Ints | None = None
) -> None:
    """Compare the picks of all nodes."""
    table = PickTable.of(graph, names=names)
    drawn = table.on(device).draw(torch.arange(graph.num_nodes, device=device), picks, key, explore=explore)
    expected = _expected(table, picks, key, explore)
    np.testing.assert_array_equal(drawn.cpu().numpy(), expected)


def _expected(table: PickTable, picks: int, key: Key, explore: Explore) -> Ints:
    names = None if table.names is None else table.names.tolist()
    targets = range(table.graph.num_nodes)
    return reference.pick(table.graph, table.weights.tolist(), targets, picks, key, explore, names)
