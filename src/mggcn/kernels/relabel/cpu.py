"""Numbers the nodes of a block in numba, with a table over all nodes."""

from mggcn.kernels._compiled import AnyInts, Ints, compiled


@compiled
def relabel(receivers: AnyInts, senders: AnyInts, row_of: Ints, rows: Ints, nodes: Ints) -> int:
    """Fill ``rows`` and ``nodes`` and return the number of rows; ``row_of`` [num_nodes] must be filled with -1."""
    count = 0
    for node in receivers:
        row_of[node] = count
        nodes[count] = node
        count += 1
    for e in range(senders.size):
        node = senders[e]
        if row_of[node] < 0:
            row_of[node] = count
            nodes[count] = node
            count += 1
        rows[e] = row_of[node]
    return count
