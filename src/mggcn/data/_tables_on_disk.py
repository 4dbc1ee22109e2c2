"""An import of two tables into a dataset folder, without either in memory.

Ids go to disk, where DuckDB joins, mirrors and sorts the edges, and features go to the folder. In memory are labels and
split, and some rows of features at a time.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mggcn._io.database import Database, connect, first_row, megabytes, one_line_errors
from mggcn._io.temporary import locked_name, temporary_folder
from mggcn.data._columns import BLOCK, Chunk, Column, Encoder, feature_names, fill
from mggcn.data._dataset import Dataset
from mggcn.data._folder import load_folder
from mggcn.data._sorted_edges import Ids, IdsOnDisk, ids_of, limit_of_duckdb, quoted, write_graph
from mggcn.data._table_files import CHUNK, Paths, Table
from mggcn.data._tables import OnRows, TableColumns, TableImport
from mggcn.data._writer import FolderWriter, check_free, writing
from mggcn.errors import InputError, require
from mggcn.graph import Direction, Graph

_ENDS = ("source", "target")
_STRUCTURE_BYTES = (108, 36)  # of the graph and structural features: for each node, for each stored entry


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
    tables = Table.of(edges), None if nodes is None else Table.of(nodes)
    with (
        locked_name(out),
        temporary_folder(out) as work,
        closing(connect(work, limit)) as database,
        writing(out, overwrite=overwrite) as folder,
    ):
        job = _OnDisk(*tables, columns, on_rows=on_rows)
        job.use(database, limit, work, folder)
        title = name or out.resolve().name
        fields = job.read(title, seed, direction)
        x = fields.pop("x")
        if x is not None:
            folder.write("x", x)
        folder.write("y", fields.pop("y"))
        job.write_ids()
        folder.finish(title, fields.pop("classes"), direction=direction or "both", **fields)
    return load_folder(out, mmap=True)


class _OnDisk(TableImport):
    """An import through files in the folder ``work``, with a limit on ``memory`` in megabytes."""

    def use(self, database: Database, memory: int, work: Path, folder: FolderWriter) -> None:
        """Set what computes, its memory in megabytes, a folder for files meanwhile, and the folder to write."""
        self._database, self._memory, self._work, self._folder = database, memory, work, folder
        self._node_ids, self._edge_ids = IdsOnDisk(work, "nodes", ["id"]), IdsOnDisk(work, "edges", _ENDS)

    def add_nodes(self, chunk: Chunk) -> None:
        self._node_ids.append([self._ids(chunk, self.columns.id)])

    def add_edges(self, chunk: Chunk) -> None:
        limit_of_duckdb(self._memory, self._node_ids.num_rows)  # raises InputError before all edges are read
        self._edge_ids.append([self._ids(chunk, column) for column in self.ends])

    def number_nodes(self) -> int:
        for ids in (self._node_ids, self._edge_ids):
            ids.close()
        self._are_integers = not (self._node_ids.has_text or self._edge_ids.has_text)
        kind, run = "BIGINT" if self._are_integers else "VARCHAR", self._database.execute
        run(f"SET memory_limit = '{limit_of_duckdb(self._memory, self._node_ids.num_rows)}MB'")
        run(f"CREATE VIEW edges AS {self._edge_ids.query(kind)}")
        if self.nodes is not None:
            run(f"CREATE VIEW nodes AS {self._node_ids.query(kind)}")
        else:
            ends = " UNION ALL ".join(
                f"SELECT {end} AS id, number * 2 + {side} AS place FROM edges" for side, end in enumerate(_ENDS)
            )
            self._store(
                "nodes",
                "numbering the nodes",
                "SELECT id, row_number() OVER (ORDER BY place) - 1 AS number "
                f"FROM (SELECT id, min(place) AS place FROM ({ends}) GROUP BY id)",
            )
        are_numbers = "bool_and(id = number)" if self._are_integers else "false"
        self._num_nodes, self._are_numbers = first_row(self._database, f"SELECT count(*), {are_numbers} FROM nodes")
        if self.nodes is not None and not self._are_numbers:
            repeated = "SELECT id, min(number) AS first FROM nodes GROUP BY id HAVING count(*) > 1"
            query = f"SELECT min(number) FROM nodes JOIN ({repeated}) USING (id) WHERE number > first"
            with one_line_errors("the search for repeated node ids"):
                (number,) = first_row(self._database, query)
            if number is not None:
                raise self.repeated_id(*self.cell(self.nodes, self.columns.id, number))
        return int(self._num_nodes)

    def build_graph(self, direction: Direction) -> Sequence[int]:
        self._direction = direction
        num_edges = self._edge_ids.num_rows
        if self._are_numbers:
            ends = (f"CASE WHEN {end} BETWEEN 0 AND {self._num_nodes - 1} THEN {end} END AS {end}" for end in _ENDS)
            self._database.execute(f"CREATE VIEW numbered AS SELECT number, {', '.join(ends)} FROM edges")
        else:
            self.on_rows("joined edges", 0, num_edges)
            self._store(
                "numbered",
                "the join of edges with node ids",
                "SELECT e.number, s.number::UINTEGER AS source, t.number::UINTEGER AS target FROM edges e "
                "LEFT JOIN nodes s ON e.source = s.id LEFT JOIN nodes t ON e.target = t.id",
            )
            self.on_rows("joined edges", num_edges, num_edges)
        missing = "sum((source IS NULL)::BIGINT + (target IS NULL)::BIGINT)"
        query = f"SELECT min(number), arg_min(source IS NOT NULL, number), {missing} FROM numbered"
        row, side, count = first_row(self._database, f"{query} WHERE source IS NULL OR target IS NULL")
        if row is not None:
            raise self.unknown_end(row, int(side), int(count), num_edges)
        edges = "SELECT source, target FROM numbered"
        return write_graph(self._database, edges, self._num_nodes, self._folder, direction, self.on_rows)

    def id_of(self, node: int) -> str:
        return str(first_row(self._database, f"SELECT id FROM nodes WHERE number = {node}")[0])

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

    def encode(
        self, encoder: Encoder, names: Sequence[str], train: NDArray[np.int64] | None
    ) -> tuple[None, tuple[Column, ...], list[str]]:
        columns, num_nodes = encoder.columns, self._num_nodes
        is_edited = any(column.has_empty for column in columns)  # else the file is hashed while it is written
        width = len(feature_names(columns))
        x = self._folder.array("x", np.float32, (width,), None if is_edited else num_nodes)
        for rows in encoder.rows(self.chunks("features", self.nodes, names, num_nodes) if self.nodes else ()):
            x.append(rows)
        x.close()
        return None, *fill(lambda: _blocks(x.path), columns, train)

    def write_ids(self) -> None:
        """Write the ids of the nodes as a data set in memory has them."""
        has_text = self._edge_ids.has_text if self.nodes is None else self._node_ids.has_text
        with one_line_errors("the ids of the nodes"):
            kind = np.dtype(np.int64)
            if has_text:
                query = "SELECT max(length(id)), bool_and(length(id) = strlen(id)) FROM nodes"
                length, is_ascii = first_row(self._database, query)
                kind = np.dtype(f"{'S' if is_ascii else 'U'}{length}")
            ids = self._folder.array("ids", kind, num_rows=self._num_nodes)
            rows = f"SELECT id::{'VARCHAR' if has_text else 'BIGINT'} FROM nodes ORDER BY number"
            for batch in self._database.sql(rows).arrow(CHUNK):
                column = batch.column(0)
                ids.append(np.array(column.to_pylist(), kind) if has_text else column.to_numpy())

    def _ids(self, chunk: Chunk, column: str) -> Ids:
        values = chunk.columns[column]
        if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
            return ids_of(values)
        return ids_of(self.keys_of(chunk, column))

    def _store(self, name: str, subject: str, query: str) -> None:
        """Write the rows of a query to a file and make it a view."""
        path = quoted(self._work / f"{name}.parquet")
        with one_line_errors(subject):
            self._database.execute(f"COPY ({query}) TO {path} (FORMAT parquet, COMPRESSION zstd)")
            self._database.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({path})")


def _blocks(path: Path) -> Iterator[NDArray[np.float32]]:
    """The blocks of rows of a stored matrix, mapped one after the other so that the memory of each is free again."""
    for start in range(0, len(np.load(path, mmap_mode="r")), BLOCK):
        yield np.load(path, mmap_mode="r+")[start : start + BLOCK]
