"""Neighbours drawn uniformly without replacement, in a random order: the specification.

Each receiver's row of the graph is shuffled from the front (Fisher and Yates) and cut after ``fanout`` steps, so that
every ordered selection of neighbours is equally likely. Step i of receiver v uses the hash of (key, name of v, i);
its name is what depends on its id, or its number without ids.
"""

from collections.abc import Sequence

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
