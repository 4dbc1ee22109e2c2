"""Edges to the rows of a graph with DuckDB: ids on disk become node numbers, edges are mirrored, sorted and merged.

Integers are apart from text on disk, so that plain numbers stay 8 bytes each.

An entry is one 64-bit number, (row · num_nodes + neighbour) · 2, plus 1 if it is the mirror image of an edge: sorting
these numbers sorts the rows, and the last bit says which edges were there twice.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn._io.database import Database, first_row, one_line_errors
from mggcn.data._columns import Cells, text_of
from mggcn.data._tables import OnRows
from mggcn.data._writer import CsrWriter, FolderWriter
from mggcn.errors import InputError
from mggcn.graph import Direction

Ids = NDArray[np.int64] | list[str]
"""The ids of some rows: integers, or text if one of them is not the plain form of an integer."""

MOST_NODES = 2**31 - 1
_LEAST = np.iinfo(np.int64).min
_BATCH = 1 << 20
_LEAST_FOR_DUCKDB = 400  # megabytes
_BYTES_PER_NODE = 24  # labels, split and the temporary arrays of drawing one


def ids_of(values: Cells) -> Ids:
    """Return the cells of an id column as integers if all are, else as text, which is empty for empty cells."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and np.can_cast(values.dtype, np.int64):
        integers = values.astype(np.int64, copy=False)
        return integers if integers.min(initial=0) > _LEAST else [str(value) for value in integers.tolist()]
    import pyarrow

    texts = [text_of(value) for value in (values.tolist() if isinstance(values, np.ndarray) else values)]
    column = pyarrow.array(texts, pyarrow.string())
    try:
        parsed = column.cast(pyarrow.int64())
    except pyarrow.ArrowInvalid:
        return texts
    is_plain = parsed.cast(pyarrow.string()).equals(column)
    numbers: NDArray[np.int64] = parsed.to_numpy(zero_copy_only=False)
    return numbers if is_plain and numbers.min(initial=0) > _LEAST else texts


class IdsOnDisk:
    """Writes columns of ids and the number of each row.

    Attributes:
        num_rows: written so far.
        has_text: whether an id is not an integer.
        is_sorted: whether the first column is integers in increasing order, each once.
        counts_up: whether the first column is the row numbers.

    Args:
        folder: for the files.
        table: the name of the table.
        columns: the names of its columns.
    """

    def __init__(self, folder: Path, table: str, columns: Sequence[str]) -> None:
        self._folder, self._table, self._columns = folder, table, tuple(columns)
        self._writers: dict[str, Any] = {}
        self.num_rows, self.has_text, self.is_sorted, self.counts_up = 0, False, True, True
        self._last: int | None = None

    def append(self, columns: Sequence[Ids]) -> None:
        """Write rows, given as the ids of each column."""
        import pyarrow
        from pyarrow import parquet

        count = len(columns[0])
        if count == 0:
            return
        kind = "integer" if all(isinstance(ids, np.ndarray) for ids in columns) else "text"
        self._watch(columns[0])
        arrays = [pyarrow.array(ids) if kind == "integer" else _as_text(ids) for ids in columns]
        numbers = pyarrow.array(np.arange(self.num_rows, self.num_rows + count))
        batch = pyarrow.RecordBatch.from_arrays([numbers, *arrays], names=["number", *self._columns])
        if kind not in self._writers:
            self._writers[kind] = parquet.ParquetWriter(
                self._path(kind), batch.schema, compression="zstd", use_dictionary=False
            )
        self._writers[kind].write_batch(batch)
        self.has_text |= kind == "text"
        self.num_rows += count

    def close(self) -> None:
        """Complete the files."""
        for writer in self._writers.values():
            writer.close()

    def query(self, *, as_text: bool) -> str:
        """SQL that selects the rows in any order; all ids as text or, if none is text, all as integers."""
        parts = []
        for kind in self._writers or ("integer",):
            if not self._writers:
                columns = ", ".join(f"NULL::BIGINT AS {name}" for name in ("number", *self._columns))
                parts.append(f"SELECT {columns} WHERE false")
                continue
            cast = "::VARCHAR" if as_text else ""
            columns = ", ".join(f"{name}{cast} AS {name}" for name in self._columns)
            path = str(self._path(kind)).replace("'", "''")
            parts.append(f"SELECT number, {columns} FROM read_parquet('{path}')")  # noqa: S608 - a file of ours
        return " UNION ALL ".join(parts)

    def _path(self, kind: str) -> Path:
        return self._folder / f"{self._table}-{kind}.parquet"

    def _watch(self, ids: Ids) -> None:
        if not isinstance(ids, np.ndarray):
            self.is_sorted = self.counts_up = False
        elif self.is_sorted:
            follows = self._last is None or self._last < ids[0]
            self.is_sorted = bool(follows and np.all(ids[1:] > ids[:-1]))
            self._last = int(ids[-1])
            self.counts_up &= self.is_sorted and ids[0] == self.num_rows and ids[-1] == self.num_rows + ids.size - 1
        else:
            self.counts_up = False


def _as_text(ids: Ids) -> Any:
    import pyarrow

    if isinstance(ids, np.ndarray):
        return pyarrow.array(ids).cast(pyarrow.string())
    return pyarrow.array(ids, pyarrow.string())


def limit_of_duckdb(memory: int, num_nodes: int) -> int:
    """The megabytes that the arrays of so many nodes leave of ``memory``; InputError, with the minimum, if too few."""
    arrays = num_nodes * _BYTES_PER_NODE // 10**6
    if memory < arrays + _LEAST_FOR_DUCKDB:
        raise InputError(
            f"memory: {memory}MB is too little for {num_nodes:,} nodes; "
            f"at least {arrays + _LEAST_FOR_DUCKDB}MB are needed"
        )
    return memory - arrays


def write_graph(
    database: Database, edges: str, num_nodes: int, folder: FolderWriter, direction: Direction, on_rows: OnRows
) -> tuple[int, int, int]:
    """Write a graph, and return how many self-loops and duplicate edges were removed and reverses of edges added.

    Args:
        database: does the work.
        edges: SQL for a table of node numbers, ``source`` and ``target``; it is read more than once.
        num_nodes: the number of nodes, at most 2^31 - 1.
        folder: where to write.
        direction: which neighbours a node has, see :class:`mggcn.graph.Graph`.
        on_rows: reports progress.
    """
    if num_nodes > MOST_NODES:
        raise InputError(f"{num_nodes:,} nodes are more than can be sorted, {MOST_NODES:,}")
    with one_line_errors("sorting the edges"):
        query = f"SELECT count(*), count(*) FILTER (source = target) FROM ({edges})"  # noqa: S608
        num_rows, num_loops = first_row(database, query)
        num_proper = num_rows - num_loops
        ends = ("target", "source") if direction == "in" else ("source", "target")
        parts = [(*ends, 0), (*ends[::-1], 1)] if direction == "both" else [(*ends, 0)]
        entries = " UNION ALL ".join(
            f"SELECT ({row}::UBIGINT * {num_nodes} + {other}::UBIGINT) * 2 + {mirrored} AS entry "  # noqa: S608
            f"FROM ({edges}) WHERE source <> target"
            for row, other, mirrored in parts
        )
        total = num_proper * len(parts)
        on_rows("sorted edges", 0, total)
        graph = CsrWriter(folder, num_nodes, direction)
        num_distinct, num_stored, done, last = 0, 0, 0, -1
        for batch in _batches(database, f"{entries} ORDER BY entry"):
            done += batch.size
            batch = _without_repeats(batch, last)
            if batch.size:
                num_distinct += int(np.count_nonzero(batch & np.uint64(1) == 0))
                pairs = _without_repeats(batch >> np.uint64(1), last >> 1)
                num_stored += pairs.size
                rows, others = np.divmod(pairs, np.uint64(num_nodes))
                graph.append(rows.astype(np.int64), others.astype(np.int64))
                last = int(batch[-1])
            on_rows("sorted edges", done, total)
        graph.close()
    return num_loops, num_proper - num_distinct, num_stored - num_distinct


def number_ends(database: Database, edges: str, nodes: str, work: Path) -> str:
    """Replace ids by node numbers; return SQL for the edges, with null for ids that are not in the node table.

    Args:
        database: does the work.
        edges: SQL for a table of ids, ``source`` and ``target``, and the ``number`` of each row.
        nodes: SQL for a table of the ``id`` of each node and its ``number``.
        work: a folder for the result.
    """
    path = str(work / "numbered.parquet").replace("'", "''")
    with one_line_errors("the join of edges with node ids"):
        database.execute(
            f"COPY (SELECT e.number, s.number::UINTEGER AS source, t.number::UINTEGER AS target FROM ({edges}) e "  # noqa: S608
            f"LEFT JOIN ({nodes}) s ON e.source = s.id LEFT JOIN ({nodes}) t ON e.target = t.id) "
            f"TO '{path}' (FORMAT parquet, COMPRESSION zstd)"
        )
    return f"SELECT number, source, target FROM read_parquet('{path}')"  # noqa: S608


def first_unknown(database: Database, edges: str) -> tuple[int, str, int] | None:
    """The number of the first row with a missing end, which it is, and how many are missing; they are null."""
    missing = "sum((source IS NULL)::BIGINT + (target IS NULL)::BIGINT)"
    rows = f"({edges}) WHERE source IS NULL OR target IS NULL"
    query = f"SELECT min(number), arg_min(source IS NULL, number), {missing} FROM {rows}"  # noqa: S608
    number, is_source, count = first_row(database, query)
    return None if number is None else (int(number), "source" if is_source else "target", int(count))


def _batches(database: Database, query: str) -> Iterator[NDArray[np.uint64]]:
    for batch in database.sql(query).arrow(_BATCH):
        yield batch.column(0).to_numpy()


def _without_repeats(values: NDArray[np.uint64], last: int) -> NDArray[np.uint64]:
    """Sorted values without those that equal the one before; ``last`` is before the first, negative if none is."""
    keep = np.empty(values.size, bool)
    keep[1:] = values[1:] != values[:-1]
    keep[:1] = last < 0 or values[:1] != np.uint64(last)
    return values[keep]
