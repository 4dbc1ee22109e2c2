"""Compares the back ends of the picks with their reference, bit for bit; they raise AssertionError if they differ."""

import numpy as np
import torch

from mggcn.graph import Graph
from mggcn.kernels._compiled import Ints
from mggcn.kernels.pick import Explore, PickTable, reference
from mggcn.keys import Key


def on_cpu(graph: Graph, picks: int, key: Key, *, explore: Explore = "both", weights: Ints | None = None) -> None:
    """Compare the picks of all nodes, drawn by ``weights``, the degrees when None."""
    drawn = PickTable.of(graph, weights=weights).draw(np.arange(graph.num_nodes), picks, key, explore=explore)
    by = (graph.degrees if weights is None else weights).tolist()
    np.testing.assert_array_equal(drawn, reference.pick(graph, by, range(graph.num_nodes), picks, key, explore))


def on_gpu(graph: Graph, picks: int, key: Key, device: torch.device, *, explore: Explore = "both") -> None:
    """Compare the picks of all nodes."""
    targets = torch.arange(graph.num_nodes, device=device)
    drawn = PickTable.of(graph).on(device).draw(targets, picks, key, explore=explore)
    expected = reference.pick(graph, graph.degrees.tolist(), range(graph.num_nodes), picks, key, explore)
    np.testing.assert_array_equal(drawn.cpu().numpy(), expected)
