"""Neighbours drawn without replacement, in a random order: the specification.

Each receiver's row of the graph is shuffled from the front (Fisher and Yates) and cut after ``fanout`` steps, so that
every ordered selection of neighbours is equally likely. Step i of receiver v uses the hash of (key, name of v, i);
its name is what depends on its id, or its number without ids.

By weight, step i draws one of the neighbours that are left, in proportion to its weight, with the same hash.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate

from mggcn.graph import Graph
from mggcn.keys import Key, fold
from tests.reference import below


def draw(
    graph: Graph, receivers: Sequence[int], fanout: int, key: Key, names: Sequence[int] | None = None
) -> list[list[int]]:
    """For each receiver at most ``fanout`` distinct neighbours, all of them if it has no more.

    The hashes contain a receiver's entry in ``names`` [num_nodes], its node number when None.
    """
    names = range(graph.num_nodes) if names is None else names
    return [draw_one(graph, receiver, fanout, key, names[receiver]) for receiver in receivers]


def draw_one(graph: Graph, receiver: int, fanout: int, key: Key, name: int) -> list[int]:
    """The neighbours drawn for one receiver, in the order of the draws."""
    stream = fold(key.value, name)
    row = [int(node) for node in graph.row(receiver)]
    count = min(fanout, len(row))
    for step in range(count):
        other = step + below(fold(stream, step), len(row) - step)
        row[step], row[other] = row[other], row[step]
    return row[:count]


def draw_by_weight(
    graph: Graph,
    weights: Mapping[tuple[int, int], int],
    receivers: Sequence[int],
    fanout: int,
    key: Key,
    names: Sequence[int] | None = None,
) -> list[list[int]]:
    """The same in proportion to the weights of each receiver and neighbour."""
    names, drawn = range(graph.num_nodes) if names is None else names, []
    for receiver in receivers:
        stream, left = fold(key.value, names[receiver]), [int(node) for node in graph.row(receiver)]
        drawn.append([])
        for step in range(min(fanout, len(left))):
            sums = list(accumulate(weights[receiver, node] for node in left))
            point = below(fold(stream, step), sums[-1])
            drawn[-1].append(left.pop(next(index for index, running in enumerate(sums) if running > point)))
    return drawn
