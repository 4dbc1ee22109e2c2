"""Two tables on how MG-GCN works: the grain of each layer, and how neighbourhoods grow while picks do not."""

import numpy as np
from scipy.sparse import csr_array

from mggcn.data import load
from mggcn.graph import Graph
from mggcn.sampling import grains

_HOPS, _LAYERS, _PICKS = 3, 4, 5


def schedules() -> str:
    """The grain of each layer, by the number of layers."""
    lines = ["| layers | grains, the lowest first |", "|---:|---|"]
    lines += [f"| {number} | {', '.join(grains.schedule(number))} |" for number in range(1, _LAYERS + 1)]
    return "\n".join(lines)


def growth() -> str:
    """The number of nodes that a target's score depends on, with whole neighbourhoods and with picks, on digits."""
    graph = load("digits").graph
    lines = ["| layers | whole neighbourhoods | picks |", "|---:|---:|---:|"]
    for number, mean in enumerate(_reached(graph), 1):
        lines.append(f"| {number} | {mean:,.0f} | {1 if number == 1 else 1 + _PICKS} |")
    lines += [
        "",
        f"Rows that a target needs on `digits` ({graph.num_nodes:,} nodes, {graph.num_edges:,} edges): the mean number "
        f"of nodes within as many hops as there are layers, itself included; and the target with {_PICKS} picks.",
    ]
    return "\n".join(lines)


def _reached(graph: Graph) -> list[float]:
    shape = (graph.num_nodes, graph.num_nodes)
    adjacency = csr_array((np.ones(graph.num_stored, bool), graph.indices, graph.indptr), shape=shape)
    near, means = csr_array((np.ones(graph.num_nodes, bool), (np.arange(graph.num_nodes),) * 2), shape=shape), []
    for _ in range(_HOPS):
        near = near + near @ adjacency
        means.append(near.nnz / graph.num_nodes)
    return means
