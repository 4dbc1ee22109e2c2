"""The sub-graph induced by some nodes, with self-loops."""

from collections.abc import Sequence

from mggcn.graph import Graph


def subgraph(graph: Graph, nodes: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """(indptr, indices, entries) of distinct ``nodes``, as :class:`mggcn.kernels.relabel.Subgraph` describes them."""
    row_of = {node: row for row, node in enumerate(nodes)}
    indptr, indices, entries = [0], [], []
    for node in nodes:
        indices.append(row_of[node])
        entries.append(-1)
        for entry in range(int(graph.indptr[node]), int(graph.indptr[node + 1])):
            if (neighbour := int(graph.indices[entry])) in row_of:
                indices.append(row_of[neighbour])
                entries.append(entry)
        indptr.append(len(indices))
    return indptr, indices, entries
