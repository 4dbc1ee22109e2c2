"""Algorithm 1 of the paper by exact rejection, in plain Python; :mod:`mggcn.kernels.pick` explains it."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from mggcn.graph import Graph
from mggcn.kernels.pick import Explore
from mggcn.keys import Key, fold
from tests.reference import below

TRIALS = 32

Weights = Sequence[int] | Mapping[tuple[int, int], int]  # of each node, or of each node and neighbour


def pick(
    graph: Graph,
    weights: Weights,
    targets: Sequence[int],
    picks: int,
    key: Key,
    explore: Explore = "both",
    names: Sequence[int] | None = None,
) -> NDArray[np.int64]:
    """Draw the picks of each target: [len(targets), 1 + picks], the target first, short rows padded with it.

    The hashes of a target's draws contain its entry in ``names`` [num_nodes], its node number when None.
    """
    names = range(graph.num_nodes) if names is None else names
    rows = [pick_one(graph, weights, target, picks, key, explore, names[target]) for target in targets]
    return np.array([row + row[:1] * (1 + picks - len(row)) for row in rows], np.int64).reshape(-1, 1 + picks)


def pick_one(
    graph: Graph,
    weights: Weights,
    target: int,
    picks: int,
    key: Key,
    explore: Explore = "both",
    name: int | None = None,
) -> list[int]:
    """The target and its picks in the order of picking; fewer than ``picks`` when no candidate is left."""
    stream = fold(key.value, target if name is None else name)
    members = [target]
    for step in range(picks):
        open_members = {"both": members, "breadth": members[:1], "depth": members[-1:]}[explore]
        node = _draw(graph, weights, members, open_members, stream, step)
        if node is None:
            break
        members.append(node)
    return members


def _draw(
    graph: Graph, weights: Weights, members: list[int], open_members: list[int], stream: int, step: int
) -> int | None:
    pairs = [(s, int(w)) for s in open_members for w in graph.row(s)]
    sums = list(accumulate(_weight(weights, s, w) for s, w in pairs))
    if not sums:
        return None
    for trial in range(TRIALS):
        s, w = pairs[_first_above(sums, below(_hash(stream, step, trial), sums[-1]))]
        if _is_candidate(graph, members, open_members, s, w):
            return w
    candidates = [(s, w) for s, w in pairs if _is_candidate(graph, members, open_members, s, w)]
    if not candidates:
        return None
    sums = list(accumulate(_weight(weights, s, w) for s, w in candidates))
    return candidates[_first_above(sums, below(_hash(stream, step, TRIALS), sums[-1]))][1]


def _weight(weights: Weights, node: int, neighbour: int) -> int:
    return weights[node, neighbour] if isinstance(weights, Mapping) else weights[neighbour]


def _hash(stream: int, step: int, trial: int) -> int:
    return fold(stream, step * (TRIALS + 1) + trial)


def _first_above(sums: list[int], value: int) -> int:
    return next(index for index, running in enumerate(sums) if running > value)


def _is_candidate(graph: Graph, members: list[int], open_members: list[int], s: int, w: int) -> bool:
    earlier = open_members[: open_members.index(s)]
    return w not in members and not any(w in graph.row(other) for other in earlier)
