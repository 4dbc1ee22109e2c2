"""Neighbours drawn uniformly without replacement, in a random order: the specification.

Each receiver's row of the graph is shuffled by Fisher and Yates from the front and cut after ``fanout`` steps, so that
every ordered choice of neighbours is equally likely. Step i of receiver v reads the hash of (key, v, i).
"""

from collections.abc import Sequence

from mggcn.graph import Graph
from mggcn.keys import Key, below, fold


def draw(graph: Graph, receivers: Sequence[int], fanout: int, key: Key) -> list[list[int]]:
    """For each receiver at most ``fanout`` distinct neighbours, all where it has no more."""
    return [draw_one(graph, receiver, fanout, key) for receiver in receivers]


def draw_one(graph: Graph, receiver: int, fanout: int, key: Key) -> list[int]:
    """The neighbours that one receiver hears, in the order drawn."""
    stream = fold(key.value, receiver)
    row = [int(node) for node in graph.row(receiver)]
    count = min(fanout, len(row))
    for step in range(count):
        other = step + below(fold(stream, step), len(row) - step)
        row[step], row[other] = row[other], row[step]
    return row[:count]
