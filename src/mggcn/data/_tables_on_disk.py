"""An import of two tables into a dataset folder, without either in memory.

Ids go to disk, where DuckDB joins, mirrors and sorts the edges, and features go to the folder. In memory are labels and
split, and some rows of features at a time.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn._io.database import Database, connect, first_row, megabytes, one_line_errors
from mggcn._io.temporary import locked_name, temporary_folder
from mggcn.data._columns import BLOCK, Chunk, ColumnEncoding, Encoder, feature_names, fill
from mggcn.data._dataset import Dataset
from mggcn.data._folder import load_folder
from mggcn.data._graph_on_disk import write_graph, write_relations
from mggcn.data._table_files import CHUNK, InputTable, Paths
from mggcn.data._tables import OnRows, TableColumns, TableImport
from mggcn.data._writer import RELATIONS, FolderWriter, check_free, writing
from mggcn.errors import InputError, require
from mggcn.graph import Changes, Direction, Graph

_LEAST_FOR_DUCKDB = 400  # megabytes
_IS_PLAIN = f"TRY_CAST({{0}} AS BIGINT)::VARCHAR IS NOT DISTINCT FROM {{0}} AND {{0}} <> '{-(2**63)}'"
_BYTES_PER_NODE = 24  # labels, split and the temporary arrays of drawing one
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
    tables = InputTable.of(edges), None if nodes is None else InputTable.of(nodes)
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
        types = job.of_edges.types
        folder.finish(title, fields.pop("classes"), direction=direction or "both", edge_types=types, **fields)
    return load_folder(out, mmap=True)


class _OnDisk(TableImport):
    """An import through files in the folder ``work``, with a limit on ``memory`` in megabytes."""

    def use(self, database: Database, memory: int, work: Path, folder: FolderWriter) -> None:
        """Set what computes, its memory in megabytes, a folder for files meanwhile, and the folder to write."""
        self._database, self._memory, self._work, self._folder = database, memory, work, folder
        of_edges = {} if self.of_edges.weight is None else {"weight": "float"}
        of_edges |= {} if self.of_edges.kind is None else {"type": "uint8"}
        self._others = ", ".join(["", *of_edges])  # after other columns in SQL
        self._node_ids = IdsOnDisk(work, "nodes", ["id"])
        self._edge_ids = IdsOnDisk(work, "edges", _ENDS, others=of_edges)

    def keys_of(self, chunk: Chunk, column: str) -> Any:
        values = chunk.columns[column]
        is_integer = isinstance(values, np.ndarray) and values.dtype.kind in "iu"
        return values if is_integer else super().keys_of(chunk, column)

    def add_nodes(self, chunk: Chunk) -> None:
        self._node_ids.append([self.keys_of(chunk, self.columns.id)])

    def add_edges(self, chunk: Chunk) -> None:
        limit_of_duckdb(self._memory, self._node_ids.num_rows)  # raises InputError before all edges are read
        ends = [self.keys_of(chunk, column) for column in self.ends]
        others = (self.of_edges.weights(chunk), self.of_edges.codes(chunk))
        self._edge_ids.append([*ends, *(values for values in others if values is not None)])

    def number_nodes(self) -> int:
        for ids in (self._node_ids, self._edge_ids):
            ids.close()
        run = self._database.execute
        run(f"SET memory_limit = '{limit_of_duckdb(self._memory, self._node_ids.num_rows)}MB'")
        with one_line_errors("reading the ids"):
            ends_are_integers = self._edge_ids.are_integers(self._database)
            self._ids_are_integers = (
                ends_are_integers if self.nodes is None else self._node_ids.are_integers(self._database)
            )
        kind = "BIGINT" if ends_are_integers and self._ids_are_integers else "VARCHAR"
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
        are_numbers = "bool_and(id = number)" if kind == "BIGINT" else "false"
        self._num_nodes, self._are_numbers = first_row(self._database, f"SELECT count(*), {are_numbers} FROM nodes")
        if self.nodes is not None and not self._are_numbers:
            repeated = "SELECT id, min(number) AS first FROM nodes GROUP BY id HAVING count(*) > 1"
            query = f"SELECT min(number) FROM nodes JOIN ({repeated}) USING (id) WHERE number > first"
            with one_line_errors("the search for repeated node ids"):
                (number,) = first_row(self._database, query)
            if number is not None:
                raise self.repeated_id(*self.cell(self.nodes, self.columns.id, number))
        return int(self._num_nodes)

    def build_graph(self, direction: Direction) -> Changes:
        self._direction = direction
        num_edges = self._edge_ids.num_rows
        if self._are_numbers:
            ends = (f"CASE WHEN {end} BETWEEN 0 AND {self._num_nodes - 1} THEN {end} END AS {end}" for end in _ENDS)
            columns = f"number, {', '.join(ends)}{self._others}"
            self._database.execute(f"CREATE VIEW numbered AS SELECT {columns} FROM edges")
        else:
            self.on_rows("joined edges", 0, num_edges)
            self._store(
                "numbered",
                "the join of edges with node ids",
                f"SELECT e.number, s.number::UINTEGER AS source, t.number::UINTEGER AS target{self._others} "
                "FROM edges e LEFT JOIN nodes s ON e.source = s.id LEFT JOIN nodes t ON e.target = t.id",
            )
            self.on_rows("joined edges", num_edges, num_edges)
        missing = "sum((source IS NULL)::BIGINT + (target IS NULL)::BIGINT)"
        query = f"SELECT min(number), arg_min(source IS NOT NULL, number), {missing} FROM numbered"
        row, side, count = first_row(self._database, f"{query} WHERE source IS NULL OR target IS NULL")
        if row is not None:
            raise self.unknown_end(row, int(side), int(count), num_edges)
        edges = f"SELECT source, target{self._others} FROM numbered"
        given = (self._database, edges, self._num_nodes, self._folder, direction, self.on_rows)
        is_weighted, numbers = self.of_edges.is_weighted, self.of_edges.numbers
        if direction == "directed" or is_weighted or numbers.size:
            return write_relations(*given, is_weighted=is_weighted, numbers=numbers)
        return write_graph(*given)

    def id_of(self, node: int) -> str:
        return str(first_row(self._database, f"SELECT id FROM nodes WHERE number = {node}")[0])

    def graph(self) -> Graph:
        per_node, per_entry = _STRUCTURE_BYTES
        paths = {name: self._folder.path / f"{name}.npy" for name in ("indptr", "indices", *RELATIONS)}
        of_relations = sum(paths[name].stat().st_size for name in RELATIONS if paths[name].is_file())
        needed = self._num_nodes * per_node + self._folder.num_rows("indices") * per_entry + 2 * of_relations
        needed //= 10**6
        if needed > self._memory:
            raise InputError(
                f"features: structural ones of this graph need {needed}MB, more than memory={self._memory}MB; "
                "allow more, or choose features='none'"
            )
        arrays = {name: np.load(path) for name, path in paths.items() if path.is_file()}
        return Graph.from_arrays(arrays, self._direction, self.of_edges.types, checked=True)

    def encode(
        self, encoder: Encoder, names: Sequence[str], train: NDArray[np.int64] | None
    ) -> tuple[None, tuple[ColumnEncoding, ...], list[str]]:
        columns, num_nodes = encoder.columns, self._num_nodes
        width = len(feature_names(columns))
        x = self._folder.array("x", np.float32, (width,))
        for rows in encoder.rows(self.chunks("features", self.nodes, names, num_nodes) if self.nodes else ()):
            x.append(rows)
        x.close()
        return None, *fill(lambda: _blocks(x.path), columns, train)

    def write_ids(self) -> None:
        """Write the ids of the nodes as a data set in memory has them."""
        with one_line_errors("the ids of the nodes"):
            kind = np.dtype(np.int64)
            if not self._ids_are_integers:
                query = "SELECT max(length(id)), bool_and(length(id) = strlen(id)) FROM nodes"
                length, is_ascii = first_row(self._database, query)
                kind = np.dtype(f"{'S' if is_ascii else 'U'}{length}")
            ids = self._folder.array("ids", kind)
            rows = f"SELECT id::{'BIGINT' if self._ids_are_integers else 'VARCHAR'} FROM nodes ORDER BY number"
            for batch in self._database.sql(rows).arrow(CHUNK):
                column = batch.column(0)
                ids.append(column.to_numpy() if self._ids_are_integers else np.array(column.to_pylist(), kind))

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


class IdsOnDisk:
    """Writes columns of ids, as text or as a ``kind`` of SQL, and the ``number`` of each row to a file in a folder.

    ``others`` are the types of further columns by their names.
    """

    def __init__(
        self,
        folder: Path,
        table: str,
        columns: Sequence[str],
        kind: str = "string",
        others: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        import pyarrow
        from pyarrow import parquet

        self.num_rows, self._columns, self._others = 0, tuple(columns), tuple(others)
        self._types = [*[kind] * len(columns), *others.values()]
        self._path = folder / f"{table}.parquet"
        schema = pyarrow.schema([("number", "int64"), *zip((*columns, *others), self._types, strict=True)])
        self._writer = parquet.ParquetWriter(self._path, schema, compression="zstd", use_dictionary=False)

    def append(self, columns: Sequence[NDArray[Any] | list[str]]) -> None:
        """Write rows, given as the values of each column."""
        import pyarrow

        numbers = np.arange(self.num_rows, self.num_rows + len(columns[0]))
        typed = zip(columns, self._types, strict=True)
        arrays = [numbers, *(pyarrow.array(values).cast(kind) for values, kind in typed)]
        self._writer.write_batch(pyarrow.RecordBatch.from_arrays(arrays, schema=self._writer.schema))
        self.num_rows += numbers.size

    def close(self) -> None:
        """Complete the file."""
        self._writer.close()

    def are_integers(self, database: Database) -> bool:
        """Whether all ids are integers in their plain form, so that nothing is lost by keeping the numbers."""
        are_plain = " AND ".join(_IS_PLAIN.format(name) for name in self._columns)
        (others,) = first_row(database, f"SELECT count(*) FROM ({self.query('VARCHAR')}) WHERE NOT ({are_plain})")
        return int(others) == 0

    def query(self, kind: str) -> str:
        """SQL that selects the rows in any order, with ids of this type."""
        columns = ", ".join([*(f"{name}::{kind} AS {name}" for name in self._columns), *self._others])
        return f"SELECT number, {columns} FROM read_parquet({quoted(self._path)})"


def quoted(path: Path) -> str:
    """A path in SQL."""
    return "'" + str(path).replace("'", "''") + "'"


def limit_of_duckdb(memory: int, num_nodes: int) -> int:
    """The megabytes of ``memory`` that the arrays of the nodes leave; InputError, with the minimum, if too few."""
    arrays = num_nodes * _BYTES_PER_NODE // 10**6
    if memory < arrays + _LEAST_FOR_DUCKDB:
        raise InputError(
            f"memory: {memory}MB is too little for {num_nodes:,} nodes; "
            f"at least {arrays + _LEAST_FOR_DUCKDB}MB are needed"
        )
    return memory - arrays
