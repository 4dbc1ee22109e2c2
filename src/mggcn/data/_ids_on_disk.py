"""Ids of a table on disk, for DuckDB: integers apart from text, so that plain numbers stay 8 bytes each."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.data._cells import text_of
from mggcn.data._columns import Cells

Ids = NDArray[np.int64] | list[str]
"""The ids of some rows: integers, or text if one of them is not the plain form of an integer."""

_LEAST = np.iinfo(np.int64).min


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
