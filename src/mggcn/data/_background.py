"""Background: unlabelled nodes as a class of their own, so that a classifier learns what is in no class.

A classifier of the labelled classes alone gives one of them to every node. If most nodes of a graph belong to none, its
probabilities say nothing about the graph.
"""

import numpy as np
from numpy.typing import NDArray

from mggcn.data._ids import numbers_of_ids
from mggcn.keys import Key, fold_each

BACKGROUND = "Background"

_POWERS = 65  # of two, of 64-bit degrees


def draw_background(
    indptr: NDArray[np.int64],
    labelled: NDArray[np.int64],
    count: int,
    seed: int,
    ids: NDArray[np.generic] | None = None,
    block: int = 1 << 20,
) -> NDArray[np.int64]:
    """Draw unlabelled nodes whose degrees are distributed like those of the labelled nodes.

    Degrees are compared by their powers of two. Of the unlabelled nodes of similar degree, those are drawn whose hashes
    of seed and id are smallest. In a graph that has grown, a node therefore stays drawn unless new nodes with smaller
    hashes take its place, or its degree has changed. Where too few unlabelled nodes have a degree, all of them are
    drawn, so that the result can be shorter than ``count``.

    Args:
        indptr: [num_nodes + 1] of the graph, also mapped; the differences are the degrees.
        labelled: the numbers of the labelled nodes.
        count: the number of nodes to draw.
        seed: of the hashes.
        ids: [num_nodes] the user's ids, also mapped; the ids are the node numbers if None.
        block: how many nodes are in memory at a time.

    Returns:
        Node numbers in increasing order.
    """
    starts = range(0, indptr.size - 1, block)
    key = Key.of(seed).fold("draw")

    def powers(start: int) -> NDArray[np.int64]:
        """The power p of two for each degree of a block; -1 - p for a labelled node."""
        power = np.frexp(np.diff(indptr[start : start + block + 1]).astype(np.float64))[1].astype(np.int64)
        inside = labelled[(labelled >= start) & (labelled < start + block)] - start
        power[inside] = -1 - power[inside]
        return power

    sizes = np.zeros(_POWERS, np.int64)
    for power in map(powers, starts):
        sizes += np.bincount(-1 - power[power < 0], minlength=_POWERS)
    occurring = np.flatnonzero(sizes)
    ends = np.round(np.cumsum(sizes[occurring]) / sizes.sum() * count).astype(np.int64)
    wanted = dict(zip(occurring.tolist(), np.diff(ends, prepend=0).tolist(), strict=True))
    drawn = {value: (np.empty(0, np.uint64), np.empty(0, np.int64)) for value in wanted}  # hashes and nodes
    for start in starts:
        power = powers(start)
        nodes = start + np.arange(power.size)
        names = nodes if ids is None else numbers_of_ids(ids[start : start + block])
        hashes = fold_each(key.value, names)
        for value, most in wanted.items():
            pool = power == value
            all_hashes, all_nodes = (
                np.concatenate([kept, new[pool]]) for kept, new in zip(drawn[value], (hashes, nodes), strict=True)
            )
            smallest = np.argsort(all_hashes, kind="stable")[:most]
            drawn[value] = all_hashes[smallest], all_nodes[smallest]
    return np.sort(np.concatenate([np.empty(0, np.int64), *(nodes for _, nodes in drawn.values())]))
