"""Three synthetic graphs in which only the directions, only the weights or only the types of edges tell the class.

A node has a class and, independent of it, a group that a feature tells. Which nodes are joined follows from both, in
such a way that all nodes have as many neighbours of one group as of the other, and so have their neighbours. But a node
of the first class has edges from nodes of the first group and edges to nodes of the second; or heavy edges with nodes
of the first group and light ones with those of the second; or edges of type ``a`` and of type ``b``. For a node of the
second class it is the other way round. A tenth of the edges are one or the other at random. A model that does not read
what tells the class has chance accuracy if it averages over few nodes: a node's class and group also say in which half
of the nodes it is, edges are within the halves or only between them, and the means of the noise over the halves differ
a little.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mggcn.data._dataset import Dataset
from mggcn.data._split import Split
from mggcn.graph import Graph

NAMES = {"direction-labels": "directions", "weight-labels": "weights", "type-labels": "types"}
"""The data sets, and what tells the class in each."""

_NODES = 4_000
_FEWEST, _MOST = 4, 8  # edges that a node draws of each kind
_UNSURE = 0.1  # of the edges
_NOISE = 3  # features
_LIGHT, _HEAVY = (0.5, 1.5), (4.0, 8.0)


def load(name: str, _: str | None, _root: Path | None, seed: int, _mmap: bool | None) -> Dataset:
    """Generate ``direction-labels``, ``weight-labels`` or ``type-labels``; a stratified 60/20/20 split."""
    rng = np.random.default_rng(seed)
    group, y = rng.permutation(np.stack(np.divmod(np.arange(_NODES) % 4, 2)), axis=1)
    x = np.column_stack([2.0 * group - 1, rng.standard_normal((_NODES, _NOISE))]).astype(np.float32)
    return Dataset(
        name,
        _graph(rng, name, group, y),
        x,
        y,
        ("first", "second"),
        Split.stratified(y, seed),
        source=f"synthetic: only {NAMES[name]} of edges tell the class; 60/20/20 split of seed {seed}",
        feature_names=("group", *(f"noise {number}" for number in range(1, _NOISE + 1))),
    )


def _graph(rng: np.random.Generator, name: str, group: NDArray[np.int64], y: NDArray[np.int64]) -> Graph:
    """The edges, with what ``name`` says of them."""
    if name == "direction-labels":  # a node of group g and class y sends to nodes of group 1 - y and class g
        sent, received = _drawn(rng, group, y, 1 - y, group), _drawn(rng, group, y, y, 1 - group)
        source, target = np.concatenate([sent, received[::-1]], axis=1)
        is_reversed = rng.random(source.size) < _UNSURE / 2
        ends = np.where(is_reversed, target, source), np.where(is_reversed, source, target)
        return Graph.from_edges(*ends, _NODES, direction="directed")
    first, second = _drawn(rng, group, y, y, group), _drawn(rng, group, y, 1 - y, 1 - group)
    source, target = np.concatenate([first, second], axis=1)
    is_first = (np.arange(source.size) < first.shape[1]) ^ (rng.random(source.size) < _UNSURE / 2)
    if name == "type-labels":
        return Graph.from_edges(source, target, _NODES, edge_type=np.where(is_first, 0, 1), types=("a", "b"))
    weight = np.where(is_first, rng.uniform(*_HEAVY, source.size), rng.uniform(*_LIGHT, source.size))
    return Graph.from_edges(source, target, _NODES, weight=weight)


def _drawn(
    rng: np.random.Generator,
    group: NDArray[np.int64],
    y: NDArray[np.int64],
    wanted_group: NDArray[np.int64],
    wanted_y: NDArray[np.int64],
) -> NDArray[np.int64]:
    """[2, E] edges of each node with random nodes of a group and class."""
    count = rng.integers(_FEWEST, _MOST + 1, _NODES)
    block = 2 * group + y
    members = np.stack([np.flatnonzero(block == number) for number in range(4)])
    wanted = np.repeat(2 * wanted_group + wanted_y, count)
    return np.stack([np.repeat(np.arange(_NODES), count), members[wanted, rng.integers(0, _NODES // 4, wanted.size)]])
