"""Background: unlabelled nodes as a class of their own, so that a classifier learns what is in no class.

A classifier of the labelled classes alone gives one of them to every node. If most nodes of a graph belong to none, its
probabilities say nothing about the graph.
"""

import numpy as np
from numpy.typing import NDArray

BACKGROUND = "Background"

_POWERS = 65  # of two, of 64-bit degrees


def draw_background(
    indptr: NDArray[np.int64], labelled: NDArray[np.int64], count: int, seed: int, block: int = 1 << 20
) -> NDArray[np.int64]:
    """Draw unlabelled nodes whose degrees are distributed like those of the labelled nodes.

    Degrees are compared by their powers of two. Where too few unlabelled nodes have a degree, all of them are drawn, so
    that the result can be shorter than ``count``.

    Args:
        indptr: [num_nodes + 1] of the graph, also mapped; the differences are the degrees.
        labelled: the numbers of the labelled nodes.
        count: the number of nodes to draw.
        seed: of the draw.
        block: how many nodes are in memory at a time.

    Returns:
        Node numbers in increasing order.
    """
    starts = range(0, indptr.size - 1, block)

    def powers(start: int) -> NDArray[np.int64]:
        """The power p of two for each degree of a block; -1 - p for a labelled node."""
        power = np.frexp(np.diff(indptr[start : start + block + 1]).astype(np.float64))[1].astype(np.int64)
        inside = labelled[(labelled >= start) & (labelled < start + block)] - start
        power[inside] = -1 - power[inside]
        return power

    sizes, pools = np.zeros(_POWERS, np.int64), np.zeros(_POWERS, np.int64)
    for power in map(powers, starts):
        sizes += np.bincount(-1 - power[power < 0], minlength=_POWERS)
        pools += np.bincount(power[power >= 0], minlength=_POWERS)
    occurring = np.flatnonzero(sizes)
    ends = np.round(np.cumsum(sizes[occurring]) / sizes.sum() * count).astype(np.int64)
    rng = np.random.default_rng(seed)
    positions = {
        value: np.sort(rng.choice(pools[value], min(int(wanted), int(pools[value])), replace=False))
        for value, wanted in zip(occurring.tolist(), np.diff(ends, prepend=0), strict=True)
    }
    drawn, seen = [np.empty(0, np.int64)], np.zeros(_POWERS, np.int64)
    for start in starts:
        power = powers(start)
        for value, wanted in positions.items():
            pool = np.flatnonzero(power == value)
            first, last = np.searchsorted(wanted, [seen[value], seen[value] + pool.size])
            drawn.append(start + pool[wanted[first:last] - seen[value]])
            seen[value] += pool.size
    return np.sort(np.concatenate(drawn))
