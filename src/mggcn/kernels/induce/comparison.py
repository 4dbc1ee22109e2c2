"""Compares the back ends of induced sub-graphs with their reference; they raise AssertionError if they differ."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mggcn.graph import Graph
from mggcn.kernels.induce import induce, induce_on, reference


def on_cpu(graph: Graph, members: NDArray[Any], threads: int | None = None) -> None:
    """Compare which of [b, s] members are neighbours."""
    np.testing.assert_array_equal(induce(graph, members, threads=threads), reference.induce(graph, members))


def on_gpu(graph: Graph, members: NDArray[Any], device: torch.device) -> None:
    """Compare which of [b, s] members are neighbours."""
    arrays = (graph.indptr, graph.indices, members.T.copy())
    indptr, indices, sets = (torch.from_numpy(array).to(device) for array in arrays)
    out = induce_on(indptr, indices, graph.direction == "both", sets)
    expected = reference.induce(graph, members).transpose(1, 0, 2).reshape(-1, members.shape[1])
    np.testing.assert_array_equal(out.cpu().numpy(), expected)
