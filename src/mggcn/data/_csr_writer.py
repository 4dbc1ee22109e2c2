"""Writing the graph of a dataset folder from its entries in sorted order, with the checks of :class:`mggcn.Graph`."""

import numpy as np

from mggcn.data._writer import FolderWriter
from mggcn.errors import InputError
from mggcn.graph import Direction, IntArray, balance, index_dtype

_ROWS = 1 << 20  # starts of rows that are written at a time


class CsrWriter:
    """Writes ``indptr.npy`` and ``indices.npy`` from batches of entries, sorted by row and then by neighbour.

    Rows without entries need no batch. Symmetry is checked without keeping entries, by
    :func:`mggcn.graph.balance`.

    Args:
        folder: where to write.
        num_nodes: the number of rows.
        direction: of the graph; ``both`` must be symmetric.
        num_entries: if it is known, ``indices.npy`` is hashed while it is written.
    """

    def __init__(
        self, folder: FolderWriter, num_nodes: int, direction: Direction = "both", num_entries: int | None = None
    ) -> None:
        self._num_nodes, self._direction = num_nodes, direction
        self._indptr = folder.array("indptr", np.int64, num_rows=num_nodes + 1)
        self._indices = folder.array("indices", index_dtype(num_nodes), num_rows=num_entries)
        self._last = (-1, -1)
        self._balance = np.uint64(0)

    def append(self, rows: IntArray, neighbours: IntArray) -> None:
        """Write the entries (rows[i], neighbours[i]), which follow those of the batch before."""
        if rows.size == 0:
            return
        self._check(rows, neighbours)
        self._start_rows(int(rows[-1]) + 1, rows)
        self._indices.append(neighbours.astype(self._indices.dtype, copy=False))
        if self._direction == "both":
            with np.errstate(over="ignore"):
                self._balance += balance(rows, neighbours)
        self._last = (int(rows[-1]), int(neighbours[-1]))

    def close(self) -> None:
        """Write the starts of the remaining rows."""
        self._start_rows(self._num_nodes + 1, np.empty(0, np.int64))
        if self._balance:
            raise InputError("graph: not symmetric; give direction 'in' or 'out' or store every edge in both rows")
        self._indptr.close()
        self._indices.close()

    def _start_rows(self, stop: int, rows: IntArray) -> None:
        """Write the starts of all rows below ``stop`` that are not written yet; ``rows`` are those of the batch."""
        for first in range(self._indptr.num_rows, stop, _ROWS):
            numbers = np.arange(first, min(first + _ROWS, stop))
            self._indptr.append(self._indices.num_rows + np.searchsorted(rows, numbers))

    def _check(self, rows: IntArray, neighbours: IntArray) -> None:
        for values in (rows, neighbours):
            if values.min() < 0 or values.max() >= self._num_nodes:
                bad = values[(values < 0) | (values >= self._num_nodes)][0]
                raise InputError(f"graph: index {bad} is out of range for {self._num_nodes} nodes")
        loops = rows[rows == neighbours]
        if loops.size:
            raise InputError(f"graph: self-loop at node {loops[0]}")
        before = np.concatenate([[self._last[0]], rows[:-1]]), np.concatenate([[self._last[1]], neighbours[:-1]])
        follows = (rows > before[0]) | ((rows == before[0]) & (neighbours > before[1]))
        if not follows.all():
            raise InputError(f"graph: row {rows[~follows][0]} is not sorted or repeats a neighbour")
