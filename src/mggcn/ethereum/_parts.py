"""The rows of a stage, read and converted on several threads, and tables in groups of equally many rows.

Stages consist of groups of few rows, in one file or in many. Threads read and convert some groups at a time; results
come in the order of the rows, so that they are appended where they belong, and no array or list grows with the data.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pyarrow
from pyarrow import parquet

from mggcn._io.locations import Location
from mggcn.kernels.threads import available

T = TypeVar("T")
R = TypeVar("R")

_ROWS = 1 << 16  # of a group in a table


def over_rows(
    files: Sequence[Location], convert: Callable[[Any, int], R], columns: list[str] | None = None
) -> Iterator[R]:
    """Call ``convert(batch, first_row)`` for all rows of Parquet files; yield the results in the order of the rows."""

    def read(group: tuple[Location, Any, int, int]) -> R:
        file, metadata, number, first_row = group
        with file.open() as opened:
            table = parquet.ParquetFile(opened, metadata=metadata).read_row_group(number, columns, use_threads=False)
        arrays = [pyarrow.concat_arrays(column.chunks) for column in table.columns]
        converted = convert(pyarrow.RecordBatch.from_arrays(arrays, schema=table.schema), first_row)
        _release()
        return converted

    return in_order(read, _groups(files))


def num_rows(files: Sequence[Location]) -> int:
    """The number of rows of Parquet files."""
    return sum(metadata.num_rows for metadata in in_order(_metadata, files))


def in_order(function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Call a function for all items on as many threads as there are cores, and yield the results in their order."""
    threads = available()
    with ThreadPoolExecutor(threads) as pool:
        pending: deque[Future[R]] = deque()
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) > threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def _groups(files: Sequence[Location]) -> Iterator[tuple[Location, Any, int, int]]:
    first_row = 0
    for file in files:
        metadata = _metadata(file)
        for number in range(metadata.num_row_groups):
            rows = metadata.row_group(number).num_rows
            if rows:
                yield file, metadata, number, first_row
            first_row += rows


def _metadata(file: Location) -> Any:
    with file.open() as opened:
        return parquet.read_metadata(opened)


class TableWriter:
    """Writes a Parquet file in groups of equally many rows, so that its bytes depend on its rows only."""

    def __init__(self, path: Path, schema: Any) -> None:
        self._schema = schema
        self._writer = parquet.ParquetWriter(path, schema, compression="zstd")
        self._batches: list[Any] = []
        self._num_rows = 0

    def __enter__(self) -> "TableWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def append(self, columns: Sequence[Any]) -> None:
        """Write rows, as columns of the schema."""
        self._batches.append(pyarrow.RecordBatch.from_arrays(columns, schema=self._schema))
        self._num_rows += self._batches[-1].num_rows
        if self._num_rows >= _ROWS:
            self._write(self._num_rows - self._num_rows % _ROWS)

    def finish(self) -> None:
        """Write the remaining rows."""
        self._write(self._num_rows)

    def _write(self, stop: int) -> None:
        table = pyarrow.Table.from_batches(self._batches, self._schema)
        for start in range(0, stop, _ROWS):
            rows = min(_ROWS, stop - start)
            self._writer.write_table(table.slice(start, rows).combine_chunks(), row_group_size=_ROWS)
        self._batches = table.slice(stop).to_batches()
        self._num_rows -= stop
        _release()


def _release() -> None:
    """Return unused memory to the system; pyarrow otherwise keeps several times what it uses, for each thread."""
    pyarrow.default_memory_pool().release_unused()
