"""The sub-graph induced by some nodes, with self-loops."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mggcn.graph import Graph
from mggcn.kernels.subgraph import cpu


@dataclass(frozen=True, eq=False)
class Subgraph:
    """Some nodes and the edges between them, in compressed sparse rows; each row begins with a self-loop.

    Attributes:
        nodes: [n] the node of each row.
        indptr: [n + 1] the start of each row.
        indices: [e] the neighbours, as rows.
        entries: [e] the index of each entry in the graph's ``indices``, -1 for a self-loop.
    """

    nodes: NDArray[np.int64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    entries: NDArray[np.int64]


def subgraph(graph: Graph, nodes: NDArray[np.int64]) -> Subgraph:
    """The sub-graph of distinct ``nodes``, its rows in their order."""
    most = int((graph.indptr[nodes + 1] - graph.indptr[nodes]).sum()) + nodes.size
    indptr = np.empty(nodes.size + 1, np.int64)
    indices, entries = np.empty(most, np.int64), np.empty(most, np.int64)
    row_of = np.full(graph.num_nodes, -1, np.int64)
    count = cpu.subgraph(graph.indptr, graph.indices, nodes, row_of, indptr, indices, entries)
    return Subgraph(nodes, indptr, indices[:count].copy(), entries[:count].copy())
