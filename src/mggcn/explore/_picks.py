"""The picks of a target as the evaluation draws them, and the edges by which they were reached."""

from collections.abc import Sequence

import numpy as np

from mggcn.data import UNLABELLED, Dataset, names_in_draws
from mggcn.experiments import _drawing as drawing
from mggcn.graph import Graph
from mggcn.kernels.pick import Explore, PickTable
from mggcn.keys import Key
from mggcn.runs import without_padding


def draw_picks(
    dataset: Dataset, target: int, *, picks: int, seed: int = 0, draw: int = 0, explore: Explore = "both"
) -> drawing.Picks:
    """Pick nodes for a target by degree, as the evaluation does.

    Args:
        dataset: the graph, the ids and the labels.
        target: its node number.
        picks: the paper's M.
        seed: the seed of the run.
        draw: the number of the evaluation's draw; the test accuracy is that of draw 0.
        explore: whose neighbours may be picked, see :meth:`mggcn.kernels.pick.PickTable.draw`.
    """
    table = PickTable.of(dataset.graph, names=names_in_draws(dataset))
    key = Key.of(seed).fold("eval", draw)
    (members,) = table.draw(np.array([target]), picks, key, explore=explore)
    return describe(dataset, without_padding(members.tolist()), explore)


def parents(graph: Graph, members: Sequence[int], explore: Explore = "both") -> list[int]:
    """The index of the member by whose edge each pick was reached: the first one that is its neighbour."""
    indices = []
    for index, node in enumerate(members[1:], 1):
        candidates = {"both": range(index), "breadth": range(1), "depth": range(index - 1, index)}[explore]
        indices.append(next(other for other in candidates if is_neighbour(graph, members[other], node)))
    return indices


def is_neighbour(graph: Graph, node: int, other: int) -> bool:
    """Whether ``other`` is in the row of ``node``."""
    row = graph.row(node)
    index = int(np.searchsorted(row, other))
    return index < row.size and int(row[index]) == other


def describe(dataset: Dataset, members: Sequence[int], explore: Explore = "both") -> drawing.Picks:
    """The drawing of S(v): the target, then its picks in order, without padding."""
    labels = (int(dataset.y[node]) for node in members)
    return drawing.Picks(
        names=tuple(str(name) for name in dataset.ids_of(np.array(members)).tolist()),
        parents=tuple(parents(dataset.graph, members, explore)),
        degrees=tuple(int(dataset.graph.degrees[node]) for node in members),
        labels=tuple(None if label == UNLABELLED else label for label in labels),
    )
