"""The induced sub-graph in numba, with a table over all nodes."""

from mggcn.kernels._compiled import AnyInts, Ints, compiled


@compiled
def subgraph(
    graph_indptr: Ints, graph_indices: AnyInts, nodes: Ints, row_of: Ints, indptr: Ints, indices: Ints, entries: Ints
) -> int:
    """Fill the last three and return the number of entries; ``row_of`` [num_nodes] must be filled with -1."""
    for row in range(nodes.size):
        row_of[nodes[row]] = row
    count = 0
    indptr[0] = 0
    for row in range(nodes.size):
        indices[count] = row
        entries[count] = -1
        count += 1
        for entry in range(graph_indptr[nodes[row]], graph_indptr[nodes[row] + 1]):
            other = row_of[graph_indices[entry]]
            if other >= 0:
                indices[count] = other
                entries[count] = entry
                count += 1
        indptr[row + 1] = count
    return count
