"""Random walks of DeepWalk and node2vec in plain Python; :mod:`mggcn.kernels.walk` explains it."""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from mggcn.graph import Graph
from mggcn.keys import Key, fold
from tests.reference import below

TRIALS = 16
FULL = 1 << 32
END = -1


def integer_weights(p: float, q: float) -> tuple[int, int, int]:
    """The weights of returning, of a neighbour of the node before, and of all others; the largest is ``FULL``."""
    weights = (1 / p, 1.0, 1 / q)
    back, near, away = (max(1, round(FULL * (weight / max(weights)))) for weight in weights)
    return back, near, away


def walk(
    graph: Graph, starts: Sequence[int], length: int, key: Key, p: float = 1.0, q: float = 1.0
) -> NDArray[np.int64]:
    """One walk from each start: [len(starts), length] nodes, the start first."""
    rows = [walk_one(graph, start, length, fold(key.value, row), p, q) for row, start in enumerate(starts)]
    return np.array([row + [END] * (length - len(row)) for row in rows], np.int64).reshape(-1, length)


def walk_one(graph: Graph, start: int, length: int, stream: int, p: float, q: float) -> list[int]:
    """The nodes of one walk, fewer than ``length`` if it ends early."""
    nodes = [start]
    while len(nodes) < length and graph.row(nodes[-1]).size:
        nodes.append(_step(graph, nodes, stream, integer_weights(p, q)))
    return nodes


def _step(graph: Graph, nodes: list[int], stream: int, weights: tuple[int, int, int]) -> int:
    row = graph.row(nodes[-1]).tolist()
    first = (len(nodes) - 1) * (2 * TRIALS + 1)
    for trial in range(TRIALS):
        w = row[below(fold(stream, first + 2 * trial), len(row))]
        if below(fold(stream, first + 2 * trial + 1), FULL) < _weight(graph, nodes, w, weights):
            return int(w)
    sums = list(accumulate(_weight(graph, nodes, w, weights) for w in row))
    value = below(fold(stream, first + 2 * TRIALS), sums[-1])
    return int(next(w for w, running in zip(row, sums, strict=True) if running > value))


def _weight(graph: Graph, nodes: list[int], w: int, weights: tuple[int, int, int]) -> int:
    if len(nodes) == 1:
        return FULL
    back, near, away = weights
    if w == nodes[-2]:
        return back
    return near if w in graph.row(nodes[-2]) else away
