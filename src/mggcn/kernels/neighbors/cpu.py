"""Neighbours drawn in numba: bit-identical to the reference, with cost and memory independent of the degrees.

A row longer than the fan-out is never copied: only the positions that the shuffle has changed are stored.
"""

from typing import Any

import numpy as np
from numba import njit

from mggcn.kernels._compiled import AnyInts, Ints, compiled
from mggcn.kernels.hashing import below, fold


@njit  # type: ignore[untyped-decorator]
def _shuffle(row: Any, stream: Any, out: Any) -> None:
    """Fill ``out`` with the whole of ``row``, shuffled."""
    size = row.size
    out[:] = row
    for step in range(size):
        other = step + below(fold(stream, step), np.uint64(size - step))
        out[step], out[other] = out[other], out[step]


@njit  # type: ignore[untyped-decorator]
def _cut_shuffle(row: Any, stream: Any, taken: Any, moved: Any, out: Any) -> None:
    """Fill ``out`` with the front of the shuffled ``row``; what step i moved away is now at position taken[i]."""
    for step in range(out.size):
        other = step + below(fold(stream, step), np.uint64(row.size - step))
        here, there = step, other
        for earlier in range(step):
            if taken[earlier] == step:
                here = moved[earlier]
            if taken[earlier] == other:
                there = moved[earlier]
        taken[step], moved[step] = other, here
        out[step] = row[there]


@compiled
def draw(
    indptr: Ints,
    indices: AnyInts,
    receivers: Ints,
    names: Ints,
    fanout: int,
    lead: int,
    key: np.uint64,
    starts: Ints,
    out: AnyInts,
    start: int,
    stop: int,
) -> None:
    """Fill the rows start … stop of ``out``, which begin at ``starts``; ``lead`` is 1 to put the receiver first.

    ``names`` [len(receivers)] are in the hashes.
    """
    taken, moved = np.empty(fanout, np.int64), np.empty(fanout, np.int64)
    for number in range(start, stop):
        node = receivers[number]
        row = indices[indptr[node] : indptr[node + 1]]
        out[starts[number] : starts[number] + lead] = node
        part = out[starts[number] + lead : starts[number + 1]]
        if row.size <= fanout:
            _shuffle(row, fold(key, names[number]), part)
        else:
            _cut_shuffle(row, fold(key, names[number]), taken, moved, part)
