"""The mean over all neighbours, the fine grain's aggregate (the paper's equation for the fine-grained aggregator)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mggcn.graph import Graph


def neighbour_mean(
    graph: Graph, x: NDArray[np.float32], *, include_self: bool = False, relations: Sequence[int] | None = None
) -> NDArray[np.float32]:
    """Row v is the mean of x over N(v), or over N(v) and v; zero if that set is empty.

    N(v) are the neighbours by some relations; they count with the weights of the edges, and v with the weight 1.
    """
    out = np.zeros_like(x)
    for v in range(graph.num_nodes):
        entries = graph.relations_of(v)
        numbers = [0] * entries.indices.size if entries.number is None else entries.number.tolist()
        rows = zip(entries.indices.tolist(), numbers, entries.weights().tolist(), strict=True)
        members = [(u, weight) for u, number, weight in rows if relations is None or number in relations]
        members += [(v, 1.0)] if include_self else []
        if members:
            total = sum(weight * x[u].astype(np.float64) for u, weight in members)
            out[v] = total / sum(weight for _, weight in members)
    return out
