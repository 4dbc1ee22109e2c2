"""Edges to the rows of a graph with DuckDB: ids on disk become node numbers, edges are mirrored, sorted and merged.

Integers are apart from text on disk, so that plain numbers stay 8 bytes each.

An entry is one 64-bit number, (row · num_nodes + neighbour) · 2, plus 1 if it is the mirror image of an edge: sorting
these numbers sorts the rows, and the last bit says which edges were there twice.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn._io.database import Database, first_row, one_line_errors
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


def ids_of(keys: NDArray[Any] | list[str]) -> Ids:
    """Return ids as integers if all are in the plain form of one, else as text."""
    import pyarrow

    if isinstance(keys, np.ndarray):
        if np.can_cast(keys.dtype, np.int64) and keys.min(initial=0) > _LEAST:
            return keys.astype(np.int64, copy=False)
        keys = [str(key) for key in keys.tolist()]
    column = pyarrow.array(keys, pyarrow.string())
    try:
        parsed = column.cast(pyarrow.int64())
    except pyarrow.ArrowInvalid:
        return keys
    is_plain = parsed.cast(pyarrow.string()).equals(column)
    numbers: NDArray[np.int64] = parsed.to_numpy(zero_copy_only=False)
    return numbers if is_plain and numbers.min(initial=0) > _LEAST else keys


class IdsOnDisk:
    """Writes columns of ids and the number of each row.

    Attributes:
        num_rows: written so far.
        has_text: whether an id is not an integer.

    Args:
        folder: for the files.
        table: the name of the table.
        columns: the names of its columns.
    """

    def __init__(self, folder: Path, table: str, columns: Sequence[str]) -> None:
        self._folder, self._table, self._columns = folder, table, tuple(columns)
        self._writers: dict[str, Any] = {}
        self.num_rows = 0

    @property
    def has_text(self) -> bool:
        return "text" in self._writers

    def append(self, columns: Sequence[Ids]) -> None:
        """Write rows, given as the ids of each column."""
        import pyarrow
        from pyarrow import parquet

        kind = "integer" if all(isinstance(ids, np.ndarray) for ids in columns) else "text"
        numbers = np.arange(self.num_rows, self.num_rows + len(columns[0]))
        arrays = [
            pyarrow.array(ids).cast(pyarrow.int64() if kind == "integer" else pyarrow.string()) for ids in columns
        ]
        batch = pyarrow.RecordBatch.from_arrays([numbers, *arrays], names=["number", *self._columns])
        if kind not in self._writers:
            path = self._folder / f"{self._table}-{kind}.parquet"
            self._writers[kind] = parquet.ParquetWriter(path, batch.schema, compression="zstd", use_dictionary=False)
        self._writers[kind].write_batch(batch)
        self.num_rows += numbers.size

    def close(self) -> None:
        """Complete the files."""
        if not self._writers:
            self.append([np.empty(0, np.int64)] * len(self._columns))
        for writer in self._writers.values():
            writer.close()

    def query(self, kind: str) -> str:
        """SQL that selects the rows in any order, with the ids as ``BIGINT`` if none is text, or as ``VARCHAR``."""
        columns = ", ".join(f"{name}::{kind} AS {name}" for name in self._columns)
        files = quoted(self._folder / f"{self._table}-*.parquet")
        return f"SELECT number, {columns} FROM read_parquet({files}, union_by_name = true)"


def quoted(path: Path) -> str:
    """A path in SQL."""
    return "'" + str(path).replace("'", "''") + "'"


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
        query = f"SELECT count(*), count(*) FILTER (source = target) FROM ({edges})"
        num_rows, num_loops = first_row(database, query)
        num_proper = num_rows - num_loops
        ends = ("target", "source") if direction == "in" else ("source", "target")
        parts = [(*ends, 0), (*ends[::-1], 1)] if direction == "both" else [(*ends, 0)]
        entries = " UNION ALL ".join(
            f"SELECT ({row}::UBIGINT * {num_nodes} + {other}::UBIGINT) * 2 + {mirrored} AS entry "
            f"FROM ({edges}) WHERE source <> target"
            for row, other, mirrored in parts
        )
        total = num_proper * len(parts)
        on_rows("sorted edges", 0, total)
        graph = CsrWriter(folder, num_nodes, direction)
        num_distinct, num_stored, done, last = 0, 0, 0, -1
        for arrow in database.sql(f"{entries} ORDER BY entry").arrow(_BATCH):
            done += arrow.num_rows
            batch = _without_repeats(arrow.column(0).to_numpy(), last)
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


def _without_repeats(values: NDArray[np.uint64], last: int) -> NDArray[np.uint64]:
    """Sorted values without those that equal the one before; ``last`` is before the first, negative if none is."""
    keep = np.empty(values.size, bool)
    keep[1:] = values[1:] != values[:-1]
    keep[:1] = last < 0 or values[:1] != np.uint64(last)
    return values[keep]
