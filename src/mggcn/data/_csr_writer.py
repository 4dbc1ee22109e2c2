"""Writing the arrays of a graph row by row, so that none of them has to be in memory."""

import numpy as np
from numpy.typing import NDArray

from mggcn.data._writer import RELATION, FolderWriter
from mggcn.errors import InputError
from mggcn.graph import Direction, IntArray, balance, index_dtype

_SCALED = 1 << 20  # weights that are multiplied at a time


class CsrWriter:
    """Writes the arrays of a graph from batches of entries, sorted by row, then by neighbour, then by relation.

    Rows without entries need no batch. Symmetry is checked without keeping entries, by
    :func:`mggcn.graph.balance`.

    Args:
        folder: where to write.
        num_nodes: the number of rows.
        direction: of the graph; ``both`` and ``directed`` must be symmetric.
        has_numbers: whether entries have numbers of relations; a neighbour then has an entry for each.
        is_weighted: whether entries have weights.
        starts_at_once: how many starts of rows are written at a time.
    """

    def __init__(
        self,
        folder: FolderWriter,
        num_nodes: int,
        direction: Direction = "both",
        *,
        has_numbers: bool = False,
        is_weighted: bool = False,
        starts_at_once: int = 1 << 20,
    ) -> None:
        self._num_nodes, self._direction = num_nodes, direction
        self._neighbours = _RowsWriter(folder, "", num_nodes, starts_at_once)
        self._relations = _RowsWriter(folder, RELATION, num_nodes, starts_at_once) if has_numbers else None
        self._number = folder.array(f"{RELATION}number", np.uint16) if has_numbers else None
        self._weight = folder.array(f"{RELATION}weight", np.float32) if is_weighted else None
        self._last = np.array([-1, -1])  # of the last entry: row · num_nodes + neighbour, and the relation
        self._balance = np.uint64(0)

    def append(
        self,
        rows: IntArray,
        neighbours: IntArray,
        number: NDArray[np.uint16] | None = None,
        weight: NDArray[np.float32] | None = None,
    ) -> None:
        """Write the entries (rows[i], neighbours[i]), which follow those of the batch before."""
        if rows.size == 0:
            return
        is_first = self._check(rows, neighbours, number)
        if is_first.any():
            self._neighbours.append(rows[is_first], neighbours[is_first])
        if self._relations is not None:
            self._relations.append(rows, neighbours)
        for writer, values in ((self._number, number), (self._weight, weight)):
            if writer is not None and values is not None:
                writer.append(values)
        if self._direction in ("both", "directed"):
            is_directed = self._direction == "directed"
            with np.errstate(over="ignore"):
                self._balance += balance(rows, neighbours, number, weight, is_directed=is_directed)

    def close(self, scale: float = 1.0) -> None:
        """Write the starts of the remaining rows, and multiply all weights by ``scale``."""
        for writer in (self._neighbours, self._relations, self._number, self._weight):
            if writer is not None:
                writer.close()
        if self._balance:
            raise InputError("graph: not symmetric; give direction 'in' or 'out' or store every edge in both rows")
        if scale != 1 and self._weight is not None:
            for start in range(0, self._weight.num_rows, _SCALED):  # mapped again, so that memory is free again
                np.load(self._weight.path, mmap_mode="r+")[start : start + _SCALED] *= np.float32(scale)

    def _check(self, rows: IntArray, neighbours: IntArray, number: NDArray[np.uint16] | None) -> NDArray[np.bool_]:
        """Return which entries are the first of their neighbour; InputError unless all follow and are in range."""
        for values in (rows, neighbours):
            if values.min() < 0 or values.max() >= self._num_nodes:
                bad = values[(values < 0) | (values >= self._num_nodes)][0]
                raise InputError(f"graph: index {bad} is out of range for {self._num_nodes} nodes")
        loops = rows[rows == neighbours]
        if loops.size:
            raise InputError(f"graph: self-loop at node {loops[0]}")
        entries = np.concatenate([self._last[:1], rows.astype(np.int64) * self._num_nodes + neighbours])
        relations = np.concatenate([self._last[1:], np.zeros(rows.size, np.int64) if number is None else number])
        is_first = entries[1:] > entries[:-1]
        follows = is_first | ((entries[1:] == entries[:-1]) & (relations[1:] > relations[:-1]))
        if not follows.all():
            raise InputError(f"graph: row {rows[~follows][0]} is not sorted or repeats a neighbour")
        self._last = np.array([entries[-1], relations[-1]])
        return is_first


class _RowsWriter:
    """Writes the arrays ``indptr`` and ``indices``, with a prefix before their names, from batches sorted by row."""

    def __init__(self, folder: FolderWriter, prefix: str, num_nodes: int, starts_at_once: int) -> None:
        self._num_nodes, self._starts_at_once = num_nodes, starts_at_once
        self._indptr = folder.array(f"{prefix}indptr", np.int64)
        self._indices = folder.array(f"{prefix}indices", index_dtype(num_nodes))

    def append(self, rows: IntArray, neighbours: IntArray) -> None:
        """Write entries, at least one."""
        self._start_rows(int(rows[-1]) + 1, rows)
        self._indices.append(neighbours.astype(self._indices.dtype, copy=False))

    def close(self) -> None:
        """Write the starts of the remaining rows."""
        self._start_rows(self._num_nodes + 1, np.empty(0, np.int64))
        self._indptr.close()
        self._indices.close()

    def _start_rows(self, stop: int, rows: IntArray) -> None:
        """Write the starts of all rows below ``stop`` that are not written yet; ``rows`` are those of the batch."""
        for first in range(self._indptr.num_rows, stop, self._starts_at_once):
            numbers = np.arange(first, min(first + self._starts_at_once, stop))
            self._indptr.append(self._indices.num_rows + np.searchsorted(rows, numbers))
