"""Three synthetic graphs in which only the directions, only the weights or only the types of edges tell the class.

There are two groups of nodes without a class, which a feature tells apart, and nodes of two classes, each of which has
edges with both groups. Which nodes are joined does not depend on the class. For a node of the first class, edges with
the first group go to the node, are heavy or are of type ``a``, and edges with the second group go from the node, are
light or are of type ``b``. For a node of the second class it is the other way round. A tenth of these edges, and all
edges between nodes with a class, are one or the other at random. A model that does not read what tells the class has
chance accuracy.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.data._dataset import Dataset
from mggcn.data._split import UNLABELLED, Split
from mggcn.graph import Graph

NAMES = {"direction-labels": "directions", "weight-labels": "weights", "type-labels": "types"}
"""The data sets, and what tells the class in each."""

_NODES_OF_CLASS, _NODES_OF_GROUP = 1_800, 200
_FEWEST, _MOST = 4, 8  # edges of a node with each group
_AMONG = 2  # edges of a node with others that have a class
_UNSURE = 0.1  # of the edges with groups
_NOISE = 3  # features
_LIGHT, _HEAVY = (0.5, 1.5), (4.0, 8.0)


def load(name: str, _: str | None, _root: Path | None, seed: int, _mmap: bool | None) -> Dataset:
    """Generate ``direction-labels``, ``weight-labels`` or ``type-labels``; a stratified 60/20/20 split."""
    rng = np.random.default_rng(seed)
    sizes = [_NODES_OF_CLASS] * 2 + [_NODES_OF_GROUP] * 2
    role = rng.permutation(np.repeat(np.arange(4), sizes))
    y = np.where(role < 2, role, UNLABELLED)
    noise = rng.standard_normal((role.size, _NOISE))
    x = np.column_stack([np.select([role == 2, role == 3], [1, -1]), noise]).astype(np.float32)
    return Dataset(
        name,
        _graph(rng, name, role, y),
        x,
        y,
        ("first", "second"),
        Split.stratified(y, seed),
        source=f"synthetic: only {NAMES[name]} of edges tell the class; 60/20/20 split of seed {seed}",
        feature_names=("group", *(f"noise {number}" for number in range(1, _NOISE + 1))),
    )


def _graph(rng: np.random.Generator, name: str, role: NDArray[np.int64], y: NDArray[np.int64]) -> Graph:
    """The edges, with what ``name`` says: first are those to the node, or heavy ones, or those of type a."""
    nodes = np.flatnonzero(y != UNLABELLED)
    ends = [rng.choice(nodes, (2, _AMONG * nodes.size))]
    is_first = [rng.random(ends[0][0].size) < 0.5]
    for group in (0, 1):
        members = np.flatnonzero(role == 2 + group)
        drawn = members[rng.random((nodes.size, members.size)).argsort(axis=1)[:, :_MOST]]
        count = rng.integers(_FEWEST, _MOST + 1, nodes.size)
        node, member = np.repeat(nodes, count), drawn[np.arange(_MOST) < count[:, None]]
        is_unsure = rng.random(node.size) < _UNSURE
        ends.append(np.stack([member, node]))
        is_first.append(np.where(is_unsure, rng.random(node.size) < 0.5, y[node] == group))
    (source, target), first = np.concatenate(ends, axis=1), np.concatenate(is_first)
    options: dict[str, Any] = {}
    if name == "direction-labels":
        source, target = np.where(first, source, target), np.where(first, target, source)
        options = {"direction": "directed"}
    elif name == "weight-labels":
        options = {"weight": np.where(first, rng.uniform(*_HEAVY, first.size), rng.uniform(*_LIGHT, first.size))}
    else:
        options = {"edge_type": np.where(first, 0, 1), "types": ("a", "b")}
    return Graph.from_edges(source, target, role.size, **options)
