"""Compares the back ends of the neighbour mean with its reference; they raise AssertionError if they differ."""

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mggcn.graph import Graph
from mggcn.kernels.aggregate import neighbour_mean, neighbour_mean_on, reference


def on_cpu(graph: Graph, x: NDArray[np.float32], *, include_self: bool, sparse: bool = False) -> None:
    """Compare the means of dense features, or of the same features as a sparse matrix."""
    expected = reference.neighbour_mean(graph, x, include_self=include_self)
    means = neighbour_mean(graph, csr_array(x) if sparse else x, include_self=include_self)
    dense = means if isinstance(means, np.ndarray) else means.toarray()
    np.testing.assert_allclose(dense, expected, rtol=1e-6, atol=1e-7)


def on_gpu(graph: Graph, x: NDArray[np.float32], *, include_self: bool, device: torch.device) -> None:
    """Compare the means of dense features."""
    expected = reference.neighbour_mean(graph, x, include_self=include_self)
    indptr, indices, rows = (torch.from_numpy(array).to(device) for array in (graph.indptr, graph.indices, x))
    means = neighbour_mean_on(indptr, indices, rows, include_self=include_self)
    np.testing.assert_allclose(means.cpu().numpy(), expected, rtol=1e-5, atol=1e-6)
