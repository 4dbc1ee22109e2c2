"""The mean over all neighbours, the fine grain's aggregate (the paper's equation for the fine-grained aggregator)."""

import numpy as np
from numpy.typing import NDArray

from mggcn.graph import Graph


def neighbour_mean(graph: Graph, x: NDArray[np.float32], *, include_self: bool = False) -> NDArray[np.float32]:
    """Row v is the mean of x over N(v), or over N(v) and v; zero if that set is empty."""
    out = np.zeros_like(x)
    for v in range(graph.num_nodes):
        members = [*graph.row(v), v] if include_self else list(graph.row(v))
        if members:
            out[v] = x[members].astype(np.float64).sum(axis=0) / len(members)
    return out
