"""A node table in chunks: ids to disk, labels and split in memory as numbers, features to a dataset folder."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mggcn.data._cells import text_of
from mggcn.data._columns import Chunk, Column, FeatureTable, empty_note, feature_names, write_features
from mggcn.data._ids_on_disk import IdsOnDisk, ids_of
from mggcn.data._labels import Codes
from mggcn.data._sorted_edges import OnRows
from mggcn.data._table_files import Table
from mggcn.data._tables import TableColumns, node_columns
from mggcn.data._writer import FolderWriter
from mggcn.errors import InputError

_BLOCK = 1 << 17  # rows


class StreamedNodes:
    """A node table that is read twice: first ids, labels, split and what the features are, then the features.

    Attributes:
        kind: what the features are if no column is one: ``none`` or ``structural``.
        has_features: whether a column is one.
        labels: the label of each node.
        parts: the part of the split in which each node is.

    Args:
        table: the node table.
        columns: which of its columns to read.
        on_rows: reports progress.
    """

    def __init__(self, table: Table, columns: TableColumns, on_rows: OnRows) -> None:
        self._table, self._columns, self._on_rows = table, columns, on_rows
        self._features, self.kind, self._optional, self._encoder = node_columns(table, columns)
        self.has_features = bool(self._features)
        self.labels, self.parts = Codes.of_labels(columns.label), Codes.of_parts(columns.split)

    def read(self, ids: IdsOnDisk) -> None:
        """Write the ids, and look at everything else."""
        columns = self._columns
        for chunk in self._table.chunks([columns.id, *self._optional, *self._features]):
            keys = ids_of(chunk.columns[columns.id])
            if not isinstance(keys, np.ndarray) and "" in keys:
                raise InputError(f"{chunk.at(keys.index(''))}: column {columns.id!r} is empty")
            ids.append([keys])
            self.labels.add(chunk)
            self.parts.add(chunk)
            self._encoder.survey(chunk)
            self._on_rows("nodes", ids.num_rows, None)
        ids.close()

    def write_features(
        self, folder: FolderWriter, num_nodes: int, train: NDArray[np.int64] | None, memory: int
    ) -> tuple[tuple[Column, ...], list[str]]:
        """Write the features; return their columns with means over ``train``, and a note on empty cells.

        Empty cells are filled on disk, as many columns at a time as fit into ``memory`` bytes.
        """
        columns = self._encoder.columns
        x = folder.array("x", np.float32, (len(feature_names(columns)),), self._known_rows(columns, num_nodes))
        for chunk in self._table.chunks(self._features):
            rows = np.zeros((chunk.num_rows, len(feature_names(columns))), np.float32)
            write_features(rows, chunk, columns)
            x.append(rows)
            self._on_rows("features", x.num_rows, num_nodes)
        x.close()
        filled: list[Column] = []
        counts: dict[str, int] = {}
        for first, stop, strip in _strips(columns, num_nodes, memory):
            some = None if any(column.has_empty for column in strip) else train
            values = _columns(x.path, first, stop, np.arange(num_nodes) if some is None else some)
            described, empty = FeatureTable(values, strip).fill_columns(train if some is None else None)
            if empty:
                for start, block in _blocks(x.path):
                    block[:, first:stop] = values[start : start + len(block)]
            filled += described
            counts |= empty
        return tuple(filled), empty_note(counts, train)

    @staticmethod
    def _known_rows(columns: Sequence[Column], num_nodes: int) -> int | None:
        """The number of rows, by which the file is hashed while it is written; None if it is edited afterwards."""
        return None if any(column.has_empty for column in columns) else num_nodes


def _columns(path: Path, first: int, stop: int, nodes: NDArray[np.int64]) -> NDArray[np.float32]:
    """Some columns of the stored rows of nodes, which are in ascending order."""
    values = np.empty((nodes.size, stop - first), np.float32)
    for start, block in _blocks(path):
        low, high = np.searchsorted(nodes, (start, start + len(block)))
        values[low:high] = block[nodes[low:high] - start, first:stop]
    return values


def _blocks(path: Path) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """The first row and the rows of each block of a stored matrix, of which one at a time is mapped into memory."""
    with path.open("rb") as file:
        np.lib.format.read_magic(file)
        (num_rows, width), _, dtype = np.lib.format.read_array_header_1_0(file)
        offset = file.tell()
    for start in range(0, num_rows if width else 0, _BLOCK):
        shape = (min(_BLOCK, num_rows - start), width)
        yield start, np.memmap(path, dtype, "r+", offset + start * width * dtype.itemsize, shape)


def _strips(columns: Sequence[Column], num_nodes: int, memory: int) -> Iterator[tuple[int, int, tuple[Column, ...]]]:
    """Divide columns so that the features of each part fit into ``memory`` bytes: first and last feature, columns."""
    most = max(memory // (4 * max(num_nodes, 1)), 1)
    bounds = pairwise(accumulate((len(column.features) for column in columns), initial=0))
    strip: list[Column] = []
    start = end = 0
    for column, (first, stop) in zip(columns, bounds, strict=True):
        if strip and stop - start > most:
            yield start, end, tuple(strip)
            strip, start = [], first
        strip.append(column)
        end = stop
    if strip:
        yield start, end, tuple(strip)


def position(table: Table, column: str, number: int) -> str:
    """The file and line, or row, of the row of this number of a table, which is read again for it."""
    for chunk in table.chunks([column]):
        if number < chunk.num_rows:
            return chunk.at(number)
        number -= chunk.num_rows
    raise IndexError(number)


def cell(table: Table, column: str, number: int) -> str:
    """The text of a cell of the row of this number."""
    for chunk in table.chunks([column]):
        if number < chunk.num_rows:
            return text_of(_at(chunk, column, number))
        number -= chunk.num_rows
    raise IndexError(number)


def _at(chunk: Chunk, column: str, row: int) -> object:
    value = chunk.columns[column][row]
    return value.item() if isinstance(value, np.generic) else value
