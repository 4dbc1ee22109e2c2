"""Random walks of DeepWalk and node2vec in plain Python; :mod:`mggcn.kernels.walk` explains it."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from mggcn.graph import Graph
from mggcn.keys import Key, fold
from tests.reference import below

TRIALS = 16
FULL = 1 << 32
END = -1

Weights = Mapping[tuple[int, int], int]  # of a node and its neighbour


def integer_biases(p: float, q: float) -> tuple[int, int, int]:
    """The biases of returning, of a neighbour of the node before, and of all others; the largest is ``FULL``."""
    biases = (1 / p, 1.0, 1 / q)
    back, near, away = (max(1, round(FULL * (bias / max(biases)))) for bias in biases)
    return back, near, away


def walk(
    graph: Graph,
    starts: Sequence[int],
    length: int,
    key: Key,
    p: float = 1.0,
    q: float = 1.0,
    weights: Weights | None = None,
) -> NDArray[np.int64]:
    """One walk from each start: [len(starts), length] nodes, the start first; by weight if there are weights."""
    rows = [walk_one(graph, start, length, fold(key.value, row), p, q, weights) for row, start in enumerate(starts)]
    return np.array([row + [END] * (length - len(row)) for row in rows], np.int64).reshape(-1, length)


def walk_one(
    graph: Graph, start: int, length: int, stream: int, p: float, q: float, weights: Weights | None = None
) -> list[int]:
    """The nodes of one walk, fewer than ``length`` if it ends early."""
    nodes = [start]
    while len(nodes) < length and graph.row(nodes[-1]).size:
        nodes.append(_step(graph, nodes, stream, integer_biases(p, q), weights))
    return nodes


def _step(graph: Graph, nodes: list[int], stream: int, biases: tuple[int, int, int], weights: Weights | None) -> int:
    row = graph.row(nodes[-1]).tolist()
    first = (len(nodes) - 1) * (2 * TRIALS + 1)
    each = [1 if weights is None else weights[nodes[-1], w] for w in row]
    for trial in range(TRIALS):
        w = _at(row, each, fold(stream, first + 2 * trial))
        if below(fold(stream, first + 2 * trial + 1), FULL) < biases[_kind(graph, nodes, w, biases)]:
            return w
    value = fold(stream, first + 2 * TRIALS)
    if weights is None:
        return _at(row, [biases[_kind(graph, nodes, w, biases)] for w in row], value)
    kinds = [_kind(graph, nodes, w, biases) for w in row]
    shares = [float(biases[kind]) * float(_of(each, kinds, kind)) for kind in range(3)]
    point, drawn = (value >> 11) * 2.0**-53 * ((shares[0] + shares[1]) + shares[2]), 0
    for kind in range(3):
        if shares[kind] > 0:
            drawn = kind
            if point < shares[kind]:
                break
            point -= shares[kind]
    members = [index for index in range(len(row)) if kinds[index] == drawn]
    return _at([row[index] for index in members], [each[index] for index in members], fold(value, 0))


def _at(nodes: Sequence[int], weights: Sequence[int], value: int) -> int:
    """The node that holds the point of a hash, if nodes lie one after the other, each as long as its weight."""
    sums = list(accumulate(weights))
    point = below(value, sums[-1])
    return next(node for node, running in zip(nodes, sums, strict=True) if running > point)


def _of(weights: Sequence[int], kinds: Sequence[int], kind: int) -> int:
    return sum(weight for weight, other in zip(weights, kinds, strict=True) if other == kind)


def _kind(graph: Graph, nodes: list[int], w: int, biases: tuple[int, int, int]) -> int:
    """Which of the biases is that of w: 0 for the node before, 1 for a neighbour of it, 2 for others."""
    if len(nodes) == 1:
        return biases.index(FULL)
    if w == nodes[-2]:
        return 0
    return 1 if biases[1] == biases[2] or w in graph.row(nodes[-2]) else 2
