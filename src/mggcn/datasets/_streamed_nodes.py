"""A node table in chunks: ids to disk, labels and split in memory as numbers, features to a dataset folder."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mggcn.dataset import PARTS, UNLABELLED, Column
from mggcn.dataset.cells import text_of
from mggcn.dataset.columns import Cells, Chunk, FeatureTable, empty_note, feature_names, write_features
from mggcn.dataset.split import NO_SPLIT
from mggcn.dataset.tables import TableColumns, node_columns, sorted_classes
from mggcn.datasets._ids_on_disk import IdsOnDisk, ids_of
from mggcn.datasets._sorted_edges import OnRows
from mggcn.datasets.columns import Table
from mggcn.errors import InputError
from mggcn.storage import FolderWriter

_BLOCK = 1 << 17  # rows


class StreamedNodes:
    """A node table that is read twice: first ids, labels, split and what the features are, then the features.

    Attributes:
        kind: what the features are if no column is one: ``none`` or ``structural``.
        has_features: whether a column is one.

    Args:
        table: the node table.
        columns: which of its columns to read.
        on_rows: reports progress.
    """

    def __init__(self, table: Table, columns: TableColumns, on_rows: OnRows) -> None:
        self._table, self._columns, self._on_rows = table, columns, on_rows
        self._features, self.kind, self._optional, self._encoder = node_columns(table, columns)
        self.has_features = bool(self._features)
        self._labels, self._parts = _Codes([""]), _Codes(["", *PARTS])

    def read(self, ids: IdsOnDisk) -> None:
        """Write the ids, and look at everything else."""
        columns = self._columns
        for chunk in self._table.chunks([columns.id, *self._optional, *self._features]):
            keys = ids_of(chunk.columns[columns.id])
            if not isinstance(keys, np.ndarray) and "" in keys:
                raise InputError(f"{chunk.at(keys.index(''))}: column {columns.id!r} is empty")
            ids.append([keys])
            self._labels.add(chunk.columns.get(columns.label), chunk.num_rows)
            self._parts.add(chunk.columns.get(columns.split), chunk.num_rows)
            for part in self._parts.names[1 + len(PARTS) :]:
                row = int(np.flatnonzero(self._parts.codes[-1] == self._parts.names.index(part))[0])
                raise InputError(
                    f"{chunk.at(row)}: column {columns.split!r}: {part!r} is not one of {', '.join(PARTS)} or empty"
                )
            self._encoder.survey(chunk)
            self._on_rows("nodes", ids.num_rows, None)
        ids.close()

    def labels(self) -> tuple[NDArray[np.int64], list[str]]:
        """The class number of each node, -1 without a label, and the names of the classes."""
        names = sorted_classes(self._labels.names)
        numbers = np.array([names.index(name) if name else UNLABELLED for name in self._labels.names], np.int64)
        return numbers[self._labels.joined()], names

    def parts(self, y: NDArray[np.int64]) -> "tuple[Sequence[NDArray[np.int64] | None], tuple[int, str] | None]":
        """The nodes of train, val and test, and the first node in one of them that has no label, with its part."""
        codes = self._parts.joined()
        if not codes.any():
            return NO_SPLIT, None
        unlabelled = np.flatnonzero((codes != 0) & (y == UNLABELLED))
        train, val, test = (np.flatnonzero(codes == number) for number in range(1, 4))
        bad = (int(unlabelled[0]), PARTS[codes[unlabelled[0]] - 1]) if unlabelled.size else None
        return [train, val if val.size else None, test], bad

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


class _Codes:
    """A column of few different texts as numbers; ``names`` has the text of each number and grows."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self._numbers = {name: number for number, name in enumerate(names)}
        self.codes: list[NDArray[np.int32]] = []

    def add(self, values: Cells | None, count: int) -> None:
        if values is None:
            self.codes.append(np.zeros(count, np.int32))
        elif isinstance(values, np.ndarray) and values.dtype.kind in "iufb":
            distinct, inverse = np.unique(values, return_inverse=True)
            numbers = np.array([self._number(text_of(value)) for value in distinct.tolist()], np.int32)
            self.codes.append(numbers[inverse])
        else:
            self.codes.append(np.array([self._number(text_of(value)) for value in values], np.int32))

    def joined(self) -> NDArray[np.int32]:
        """The numbers of all rows."""
        self.codes = [np.concatenate([np.empty(0, np.int32), *self.codes])]
        return self.codes[0]

    def _number(self, text: str) -> int:
        if text not in self._numbers:
            self._numbers[text] = len(self.names)
            self.names.append(text)
        return self._numbers[text]


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
