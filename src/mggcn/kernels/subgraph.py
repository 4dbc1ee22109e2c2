"""The sub-graph induced by some nodes, with self-loops."""

from dataclasses import dataclass

import numpy as np

from mggcn.graph import Graph
from mggcn.kernels._compiled import AnyInts, Ints, compiled
from mggcn.kernels.relabel import empty_rows, slot_of


@dataclass(frozen=True, eq=False)
class Subgraph:
    """Some nodes and the edges between them, in compressed sparse rows; each row begins with a self-loop.

    Attributes:
        nodes: [n] the node of each row.
        indptr: [n + 1] the start of each row.
        indices: [e] the neighbours, as rows.
        entries: [e] the index of each entry in the graph's ``indices``, -1 for a self-loop.
    """

    nodes: Ints
    indptr: Ints
    indices: Ints
    entries: Ints


def subgraph(graph: Graph, nodes: Ints) -> Subgraph:
    """The sub-graph of distinct ``nodes``, its rows in their order."""
    most = int((graph.indptr[nodes + 1] - graph.indptr[nodes]).sum()) + nodes.size
    indptr = np.empty(nodes.size + 1, np.int64)
    indices, entries = np.empty(most, np.int64), np.empty(most, np.int64)
    table = empty_rows(graph.num_nodes, nodes.size)
    count = _subgraph(graph.indptr, graph.indices, nodes, *table, indptr, indices, entries)
    return Subgraph(nodes, indptr, indices[:count].copy(), entries[:count].copy())


@compiled
def _subgraph(
    graph_indptr: Ints,
    graph_indices: AnyInts,
    nodes: Ints,
    known: Ints,
    row_of: Ints,
    indptr: Ints,
    indices: Ints,
    entries: Ints,
) -> int:
    """Fill the last three and return the number of entries; ``known`` and ``row_of`` are an empty table."""
    for row in range(nodes.size):
        slot = slot_of(known, nodes[row])
        if known.size:
            known[slot] = nodes[row]
        row_of[slot] = row
    count = 0
    indptr[0] = 0
    for row in range(nodes.size):
        indices[count] = row
        entries[count] = -1
        count += 1
        for entry in range(graph_indptr[nodes[row]], graph_indptr[nodes[row] + 1]):
            other = row_of[slot_of(known, graph_indices[entry])]
            if other >= 0:
                indices[count] = other
                entries[count] = entry
                count += 1
        indptr[row + 1] = count
    return count
