"""Uniform random walks from uniform roots, in plain Python: the specification of the fast kernel.

Every draw is a hash of (key, walk, step); step 0 draws the root.
"""

from collections.abc import Sequence

from mggcn.graph import Graph
from mggcn.keys import Key, fold
from tests.reference import below


def walk(graph: Graph, pool: Sequence[int], walks: int, length: int, key: Key) -> list[list[int]]:
    """[walks, 1 + length] the nodes of each walk; a walk that reaches a node without neighbours stays there."""
    visited = []
    for number in range(walks):
        stream = fold(key.value, number)
        path = [pool[below(fold(stream, 0), len(pool))]]
        for step in range(1, length + 1):
            row = graph.row(path[-1])
            path.append(int(row[below(fold(stream, step), row.size)]) if row.size else path[-1])
        visited.append(path)
    return visited
