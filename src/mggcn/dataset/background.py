"""Background: unlabelled nodes as a class of their own, so that a classifier learns what is in no class.

A classifier of the labelled classes alone gives one of them to every node. If most nodes of a graph belong to none, its
probabilities say nothing about the graph.
"""

import numpy as np
from numpy.typing import NDArray

from mggcn.dataset.split import UNLABELLED

BACKGROUND = "Background"


def draw_background(y: NDArray[np.int64], degrees: NDArray[np.int64], count: int, seed: int) -> NDArray[np.int64]:
    """Draw unlabelled nodes whose degrees are distributed like those of the labelled nodes.

    Degrees are compared by their powers of two. Where too few unlabelled nodes have a degree, all of them are drawn, so
    that the result can be shorter than ``count``.

    Args:
        y: [num_nodes] class numbers, -1 for unlabelled nodes.
        degrees: [num_nodes] the number of neighbours of each node.
        count: the number of nodes to draw.
        seed: of the draw.

    Returns:
        Node numbers in increasing order.
    """
    rng = np.random.default_rng(seed)
    power = np.frexp(degrees.astype(np.float64))[1]
    labelled, unlabelled = y != UNLABELLED, np.flatnonzero(y == UNLABELLED)
    powers, sizes = np.unique(power[labelled], return_counts=True)
    ends = np.round(np.cumsum(sizes) / sizes.sum() * count).astype(np.int64)
    drawn = []
    for value, wanted in zip(powers, np.diff(ends, prepend=0), strict=True):
        pool = unlabelled[power[unlabelled] == value]
        drawn.append(rng.choice(pool, min(int(wanted), pool.size), replace=False))
    return np.sort(np.concatenate(drawn))
