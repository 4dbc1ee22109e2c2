"""An import of two tables into a dataset folder, without either in memory.

Ids go to disk, where DuckDB joins, mirrors and sorts the edges, and features go to the folder. In memory are labels and
split, and some columns of features at a time.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mggcn._io.database import Database, connect, first_row, megabytes, one_line_errors
from mggcn._io.temporary import locked_name, temporary_folder
from mggcn.data._columns import (
    Chunk,
    Column,
    Encoder,
    FeatureTable,
    empty_note,
    encoding_notes,
    feature_names,
    text_of,
    write_features,
)
from mggcn.data._dataset import Dataset
from mggcn.data._folder import load_folder
from mggcn.data._from_arrays import MadeFeatures
from mggcn.data._sorted_edges import IdsOnDisk, first_unknown, ids_of, limit_of_duckdb, number_ends, write_graph
from mggcn.data._table_files import CHUNK, Paths, Table
from mggcn.data._tables import Content, OnRows, TableColumns, TableImport
from mggcn.data._writer import FolderWriter, check_free, writing
from mggcn.errors import InputError, require
from mggcn.graph import Direction, Graph

_ENDS = ("source", "target")
_STRUCTURE_BYTES = (108, 36)  # of the graph and structural features: for each node, for each stored entry
_BLOCK = 1 << 17  # rows


def import_tables(
    edges: Paths,
    nodes: Paths | None,
    columns: TableColumns,
    out: Path,
    memory: str,
    name: str | None,
    seed: int,
    direction: Direction | None,
    *,
    overwrite: bool,
    on_rows: OnRows,
) -> Dataset:
    """Write two tables as the dataset folder ``out``; see :func:`mggcn.data.read_tables`."""
    for library in ("duckdb", "pyarrow"):
        require(library, "tables")
    limit = megabytes(memory)
    check_free(out, overwrite=overwrite)
    node_table, edge_table = None if nodes is None else Table.of(nodes), Table.of(edges)
    title = name or out.resolve().name
    with locked_name(out), temporary_folder(out) as work:
        job = _OnDisk(edge_table, node_table, columns, work, limit, on_rows)
        with writing(out, overwrite=overwrite) as folder:
            content = job.write(folder, title, seed, direction)
    content.warn(title, 4)
    return load_folder(out, mmap=True)


class _OnDisk(TableImport):
    """An import through files in the folder ``work``, with a limit on ``memory`` in megabytes."""

    edges: Table
    nodes: Table | None

    def __init__(
        self, edges: Table, nodes: Table | None, columns: TableColumns, work: Path, memory: int, on_rows: OnRows
    ) -> None:
        super().__init__(edges, nodes, columns, on_rows=on_rows)
        self._work, self._memory = work, memory
        self._node_ids, self._edge_ids = IdsOnDisk(work, "nodes", ["id"]), IdsOnDisk(work, "edges", _ENDS)
        self._database: Database = None
        self._num_nodes, self._numbered = 0, ""  # the latter is SQL for the ids and numbers of the nodes

    def write(self, folder: FolderWriter, name: str, seed: int, direction: Direction | None) -> Content:
        """Write all arrays and ``meta.json``."""
        self._folder = folder
        try:
            content = self.read(seed, direction)
        finally:
            if self._database is not None:
                self._database.close()
        made = content.features
        if isinstance(made.x, np.ndarray):
            folder.write("x", made.x)
        folder.write("y", content.y)
        folder.finish(
            name,
            content.classes,
            split=content.split,
            source=content.source,
            direction=direction or "both",
            id_name=self.columns.id,
            feature_names=made.names,
            encoding=made.encoding,
            notes=content.notes,
        )
        return content

    def add_nodes(self, chunk: Chunk) -> None:
        keys = ids_of(chunk.columns[self.columns.id])
        if not isinstance(keys, np.ndarray) and "" in keys:
            raise self.empty_id(chunk.at(keys.index("")))
        self._node_ids.append([keys])

    def add_edges(self, chunk: Chunk) -> None:
        ends = [ids_of(chunk.columns[column]) for column in self.ends]
        for column, keys in zip(self.ends, ends, strict=True):
            if self.nodes is None and not isinstance(keys, np.ndarray) and "" in keys:
                raise InputError(f"{chunk.at(keys.index(''))}: {column} is empty")
        self._edge_ids.append(ends)

    def number_nodes(self) -> int:
        self._node_ids.close()
        self._edge_ids.close()
        self._database = connect(self._work, limit_of_duckdb(self._memory, self._node_ids.num_rows))
        if self.nodes is None:
            self._number_ends()
        else:
            self._numbered = self._node_ids.query(as_text=self._as_text)
            self._num_nodes = self._node_ids.num_rows
            if not self._node_ids.is_sorted:
                self._check_unique(self.nodes)
        return self._num_nodes

    def build_graph(self, direction: Direction) -> Sequence[int]:
        self._direction = direction
        num_edges, num_nodes = self._edge_ids.num_rows, self._num_nodes
        edges = self._edge_ids.query(as_text=self._as_text)
        if self.nodes is not None and self._node_ids.counts_up and not self._as_text:
            ends = (f"CASE WHEN {end} BETWEEN 0 AND {num_nodes - 1} THEN {end} END AS {end}" for end in _ENDS)
            edges = f"SELECT number, {', '.join(ends)} FROM ({edges})"  # noqa: S608
        else:
            self.on_rows("joined edges", 0, num_edges)
            edges = number_ends(self._database, edges, self._numbered, self._work)
            self.on_rows("joined edges", num_edges, num_edges)
        unknown = first_unknown(self._database, edges)
        if unknown is not None:
            row, side, count = unknown
            column = self.ends[_ENDS.index(side)]
            raise self.unknown_ends(*_cell(self.edges, column, row), count, 2 * num_edges)
        changed = write_graph(self._database, edges, num_nodes, self._folder, direction, self.on_rows)
        self._write_ids()
        return changed

    def id_of(self, node: int) -> str:
        query = f"SELECT id FROM ({self._numbered}) WHERE number = {node}"  # noqa: S608
        return str(first_row(self._database, query)[0])

    def graph(self) -> Graph:
        per_node, per_entry = _STRUCTURE_BYTES
        needed = (self._num_nodes * per_node + self._folder.num_rows("indices") * per_entry) // 10**6
        if needed > self._memory:
            raise InputError(
                f"features: structural ones of this graph need {needed}MB, more than memory={self._memory}MB; "
                "allow more, or choose features='none'"
            )
        indptr, indices = (np.load(self._folder.path / f"{part}.npy") for part in ("indptr", "indices"))
        return Graph(indptr, indices, self._direction, checked=True)

    def encode(self, encoder: Encoder, names: Sequence[str], train: NDArray[np.int64] | None) -> MadeFeatures:
        columns, num_nodes = encoder.columns, self._num_nodes
        is_edited = any(column.has_empty for column in columns)  # else the file is hashed while it is written
        width = len(feature_names(columns))
        x = self._folder.array("x", np.float32, (width,), None if is_edited else num_nodes)
        for chunk in self.nodes.chunks(names) if self.nodes else ():
            rows = np.zeros((chunk.num_rows, width), np.float32)
            write_features(rows, chunk, columns)
            x.append(rows)
            self.on_rows("features", x.num_rows, num_nodes)
        x.close()
        encoding, counts = fill_on_disk(x.path, columns, num_nodes, train, self._memory * 10**6 // 4)
        notes = [*encoding_notes(encoding)]
        return MadeFeatures(None, feature_names(encoding), encoding, empty_note(counts, train), notes)

    @property
    def _as_text(self) -> bool:
        return self._node_ids.has_text or self._edge_ids.has_text

    def _number_ends(self) -> None:
        """Number the ends of the edges in the order in which they appear."""
        edges = self._edge_ids.query(as_text=self._as_text)
        ends = " UNION ALL ".join(
            f"SELECT {end} AS id, number * 2 + {side} AS place FROM ({edges})"  # noqa: S608
            for side, end in enumerate(_ENDS)
        )
        path = str(self._work / "numbered-nodes.parquet").replace("'", "''")
        with one_line_errors("numbering the nodes"):
            self._database.execute(
                f"COPY (SELECT id, row_number() OVER (ORDER BY place) - 1 AS number "  # noqa: S608
                f"FROM (SELECT id, min(place) AS place FROM ({ends}) GROUP BY id)) TO '{path}' (FORMAT parquet)"
            )
            (count,) = first_row(self._database, f"SELECT count(*) FROM read_parquet('{path}')")  # noqa: S608
        self._numbered, self._num_nodes = f"SELECT id, number FROM read_parquet('{path}')", int(count)  # noqa: S608

    def _check_unique(self, table: Table) -> None:
        repeated = f"FROM ({self._numbered}) GROUP BY id HAVING count(*) > 1"
        with one_line_errors("the search for repeated node ids"):
            if first_row(self._database, f"SELECT id {repeated} LIMIT 1") is None:
                return
            second = f"SELECT min(number, 2)[2] AS number {repeated}"
            (number,) = first_row(self._database, f"SELECT min(number) FROM ({second})")  # noqa: S608
        where, _, key = _cell(table, self.columns.id, number)
        raise self.repeated_id(where, key)

    def _write_ids(self) -> None:
        nodes, has_text = self._numbered, self._as_text if self.nodes is None else self._node_ids.has_text
        with one_line_errors("the ids of the nodes"):
            kind = np.dtype(np.int64)
            if has_text:
                query = f"SELECT max(length(id)), bool_and(length(id) = strlen(id)) FROM ({nodes})"  # noqa: S608
                length, is_ascii = first_row(self._database, query)
                kind = np.dtype(f"{'S' if is_ascii else 'U'}{length}")
            ids = self._folder.array("ids", kind, num_rows=self._num_nodes)
            cast = "VARCHAR" if has_text else "BIGINT"
            rows = f"SELECT id::{cast} FROM ({nodes}) ORDER BY number"  # noqa: S608
            for batch in self._database.sql(rows).arrow(CHUNK):
                column = batch.column(0)
                ids.append(np.array(column.to_pylist(), kind) if has_text else column.to_numpy())
            ids.close()


def fill_on_disk(
    path: Path, columns: Sequence[Column], num_nodes: int, train: NDArray[np.int64] | None, memory: int
) -> tuple[tuple[Column, ...], dict[str, int]]:
    """Fill the empty cells of a stored matrix, as many columns at a time as fit into ``memory`` bytes.

    Returns:
        The columns with their mean over ``train``, and the number of empty cells of each column that has some.
    """
    filled: list[Column] = []
    counts: dict[str, int] = {}
    for first, stop, strip in _strips(columns, num_nodes, memory):
        some = None if any(column.has_empty for column in strip) else train
        values = _columns(path, first, stop, np.arange(num_nodes) if some is None else some)
        described, empty = FeatureTable(values, strip).fill_columns(train if some is None else None)
        if empty:
            for start, block in _blocks(path):
                block[:, first:stop] = values[start : start + len(block)]
        filled += described
        counts |= empty
    return tuple(filled), counts


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


def _cell(table: Table, column: str, number: int) -> tuple[str, str, str]:
    """Where the cell in the row of this number is, its column, and its text; the table is read again for it."""
    for chunk in table.chunks([column]):
        if number < chunk.num_rows:
            value = chunk.columns[column][number]
            return chunk.at(number), column, text_of(value.item() if isinstance(value, np.generic) else value)
        number -= chunk.num_rows
    raise IndexError(number)
