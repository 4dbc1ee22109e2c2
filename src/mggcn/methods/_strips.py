"""The fine layer's input rows on disk: means are computed for some columns of all nodes at a time.

A block of rows would read its neighbours' rows from all over the disk; a strip of columns is read from beginning to
end, and is in memory while it is averaged. Sums run in the same order as over all columns, so the bits are equal.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mggcn._io.memory import size
from mggcn.data import ArrayWriter, Draft
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels.aggregate import neighbour_mean
from mggcn.training import Scaled

_BLOCK = 1 << 24  # bytes of the rows that are read or joined at a time
_BYTES_PER_VALUE = 3 * 4  # of the strip, its means, and what the last of them was made of


def rows_on_disk(num_nodes: int, width: int, hops: int) -> int:
    """The bytes of the rows, and of the means that are joined to them."""
    return 4 * num_nodes * width * (1 + 2 * hops)


def memory_for_rows(num_nodes: int, width: int, most: int) -> int:
    """The bytes of memory that computing the rows takes: at most the limit, or what all columns need."""
    return min(most, _BYTES_PER_VALUE * num_nodes * width)


def write_rows(draft: Draft, graph: Graph, scaled: Scaled, hops: int, include_self: bool, threads: int | None) -> None:
    """Write ``rows``: [num_nodes, (1 + hops) · num_features], the scaled features and their means side by side."""
    num_nodes, width = scaled.features.shape
    per_column = _BYTES_PER_VALUE * num_nodes
    if draft.memory < per_column:
        problem = f"{size(draft.memory)} are too little for {num_nodes:,} nodes"
        raise InputError(f"memory: {problem}, at least {size(per_column)} are needed")
    strips = [*_ranges(width, draft.memory // per_column)]
    for number, columns in enumerate(strips):
        part = _strip(scaled, columns)
        for hop in range(hops):
            part = np.asarray(neighbour_mean(graph, part, include_self=include_self, threads=threads))
            writer = ArrayWriter(draft.path / f"hop-{hop}-{number}.npy", np.float32, part.shape[1:], num_nodes)
            writer.append(part)
            writer.close()
    parts = [
        np.load(draft.path / f"hop-{hop}-{number}.npy", mmap_mode="r")
        for hop in range(hops)
        for number in range(len(strips))
    ]
    rows = draft.array("rows", np.float32, ((1 + hops) * width,), num_nodes)
    for block in _blocks(num_nodes, (1 + hops) * width):
        joined = [np.asarray(scaled.rows(block.start, block.stop)), *(part[block] for part in parts)]
        rows.append(np.hstack(joined))


def _strip(scaled: Scaled, columns: slice) -> NDArray[np.float32]:
    """[num_nodes, columns] of the scaled features."""
    num_nodes, width = scaled.features.shape
    strip = np.empty((num_nodes, columns.stop - columns.start), np.float32)
    for block in _blocks(num_nodes, width):
        strip[block] = scaled.rows(block.start, block.stop)[:, columns]
    return strip


def _blocks(num_nodes: int, width: int) -> Iterator[slice]:
    return _ranges(num_nodes, max(_BLOCK // (4 * max(width, 1)), 1))


def _ranges(count: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, count)) for start in range(0, count, step))
