"""The weight and the relation of the edge between two nodes, and by which edge a pick came: the specification."""

import numpy as np
from numpy.typing import NDArray

from mggcn.graph import Graph


def edge_data(graph: Graph, receiver: int, sender: int) -> tuple[np.float32, int]:
    """The sum of the weights between two nodes and the relation of the heaviest edge in the receiver's row.

    Of equally heavy ones it is the smallest number. Without an edge they are 1 and the number of relations.
    """
    row = graph.relations_of(receiver)
    numbers = np.zeros(row.indices.size, int) if row.number is None else row.number
    found = [
        (float(weight), int(number))
        for node, number, weight in zip(row.indices, numbers, row.weights(), strict=True)
        if node == sender
    ]
    if not found:
        return np.float32(1), len(graph.schema.relations)
    _, relation = min((-weight, number) for weight, number in found)
    return np.float32(sum(weight for weight, _ in found)), relation


def arrivals(graph: Graph, picks: NDArray[np.integer], explore: str) -> NDArray[np.int64]:
    """[b, s] from [b, s] picks: which member each came by, the target and padding by the target."""
    out = np.zeros(picks.shape, np.int64)
    for t, (target, *others) in enumerate(picks.tolist()):
        members = [target]
        for j, node in enumerate(others, 1):
            if node == target:
                continue
            eligible = [j - 1] if explore == "depth" else range(j)
            out[t, j] = next(i for i in eligible if node in graph.row(members[i]))
            members.append(node)
    return out
