"""Background: unlabelled nodes as a class of their own, so that a classifier learns what is in no class.

A classifier of the labelled classes alone gives one of them to every node. If most nodes of a graph belong to none, its
probabilities say nothing about the graph.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mggcn.data._split import UNLABELLED

BACKGROUND = "Background"
Blocks: TypeAlias = Callable[[], Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]]]
"""Yields y and the degrees of consecutive nodes each time it is called."""

_POWERS = 65  # of two, of 64-bit degrees


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

    def blocks() -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        yield y, degrees

    return draw_background_of_blocks(blocks, count, seed)


def draw_background_of_blocks(blocks: Blocks, count: int, seed: int) -> NDArray[np.int64]:
    """Draw as :func:`draw_background` does, without having all nodes in memory."""
    rng = np.random.default_rng(seed)
    sizes, pools = np.zeros(_POWERS, np.int64), np.zeros(_POWERS, np.int64)
    for y, degrees in blocks():
        power = _power(degrees)
        sizes += np.bincount(power[y != UNLABELLED], minlength=_POWERS)
        pools += np.bincount(power[y == UNLABELLED], minlength=_POWERS)
    powers = np.flatnonzero(sizes)
    ends = np.round(np.cumsum(sizes[powers]) / sizes.sum() * count).astype(np.int64)
    ranks = {
        power: np.sort(rng.choice(pools[power], min(int(wanted), int(pools[power])), replace=False))
        for power, wanted in zip(powers.tolist(), np.diff(ends, prepend=0), strict=True)
    }
    drawn, seen, start = [np.empty(0, np.int64)], np.zeros(_POWERS, np.int64), 0
    for y, degrees in blocks():
        power = np.where(y == UNLABELLED, _power(degrees), -1)
        for value, wanted in ranks.items():
            pool = np.flatnonzero(power == value)
            first, last = np.searchsorted(wanted, [seen[value], seen[value] + pool.size])
            drawn.append(start + pool[wanted[first:last] - seen[value]])
            seen[value] += pool.size
        start += y.size
    return np.sort(np.concatenate(drawn))


def _power(degrees: NDArray[np.int64]) -> NDArray[np.int32]:
    return np.frexp(degrees.astype(np.float64))[1]
