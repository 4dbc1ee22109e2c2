"""Picks for the eye: S(v) as evaluation draws it, with the edges that were walked."""

from collections.abc import Sequence

import numpy as np

from mggcn.dataset import UNLABELLED, Dataset
from mggcn.graph import Graph
from mggcn.kernels.pick import Explore, PickTable
from mggcn.keys import Key
from mggcn.report import drawing


def draw_picks(
    dataset: Dataset, target: int, *, picks: int, seed: int = 0, draw: int = 0, explore: Explore = "both"
) -> drawing.Picks:
    """Pick nodes for a target as evaluation does, by degree.

    Args:
        dataset: with the graph, the ids and the labels.
        target: its number.
        picks: the paper's M.
        seed: of the run.
        draw: which of evaluation's draws; the test accuracy is of draw 0.
        explore: whose neighbours may be picked, see :meth:`mggcn.kernels.pick.PickTable.draw`.
    """
    table = PickTable.of(dataset.graph)
    key = Key.of(seed).fold("eval", draw)
    (members,) = table.draw(np.array([target]), picks, key, explore=explore)
    return describe(dataset, distinct(members.tolist()), explore)


def distinct(members: Sequence[int]) -> list[int]:
    """A row of picks without its padding: the target, then its picks."""
    return [members[0], *(node for node in members[1:] if node != members[0])]


def parents(graph: Graph, members: Sequence[int], explore: Explore = "both") -> list[int]:
    """For each pick the place of the member by whose edge it was reached: the first that neighbours it.

    Args:
        graph: whose edges were walked.
        members: the target, then its picks in order, no padding.
        explore: as the picks were drawn.
    """
    found = []
    for place, node in enumerate(members[1:], 1):
        open_places = {"both": range(place), "breadth": range(1), "depth": range(place - 1, place)}[explore]
        found.append(next(other for other in open_places if is_neighbour(graph, members[other], node)))
    return found


def is_neighbour(graph: Graph, node: int, other: int) -> bool:
    """Whether the row of ``node`` holds ``other``."""
    row = graph.row(node)
    place = int(np.searchsorted(row, other))
    return place < row.size and int(row[place]) == other


def describe(dataset: Dataset, members: Sequence[int], explore: Explore = "both") -> drawing.Picks:
    """What a drawing shows of S(v): the target, then its picks in order, no padding."""
    labels = (int(dataset.y[node]) for node in members)
    return drawing.Picks(
        names=tuple(str(name) for name in dataset.ids_of(np.array(members)).tolist()),
        parents=tuple(parents(dataset.graph, members, explore)),
        degrees=tuple(int(dataset.graph.degrees[node]) for node in members),
        labels=tuple(None if label == UNLABELLED else label for label in labels),
    )
