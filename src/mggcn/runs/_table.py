"""Tables of nodes under the user's ids: as CSV, JSON lines or Parquet files, and as pandas data frames."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mggcn._io.files import check_file_writable, replacing_file
from mggcn.errors import InputError

if TYPE_CHECKING:
    import pandas

FORMATS = (".csv", ".jsonl", ".parquet")

Columns = Mapping[str, NDArray[Any]]


def write_table(path: Path, columns: Columns) -> None:
    """Write columns in the format of the suffix."""
    write_chunks(path, [columns])


def write_chunks(path: Path, chunks: Iterable[Columns]) -> None:
    """Write the rows of a table part by part; the file appears when all are written."""
    writing = {".csv": _csv, ".jsonl": _json_lines}.get(path.suffix, _parquet)
    with replacing_file(path) as draft, writing(draft) as append:
        for columns in chunks:
            append(columns)


def to_frame(columns: Columns, index: str | None = None) -> "pandas.DataFrame":
    """Columns as a data frame, one of them as its index."""
    try:
        import pandas
    except ImportError:
        raise InputError("to_pandas needs pandas: pip install 'mggcn[pandas]'") from None
    frame = pandas.DataFrame({name: _values(column) for name, column in columns.items()})
    return frame if index is None else frame.set_index(index)


def check_format(path: Path, kind: str = "predictions", formats: tuple[str, ...] = FORMATS) -> None:
    """Raise InputError, before any work is done, if a table of this kind cannot be written to this file."""
    if path.suffix not in formats:
        listed = f"{', '.join(formats[:-1])} or {formats[-1]}"
        raise InputError(f"{path}: {kind} are written as {listed}, not {path.suffix or 'no suffix'}")
    check_file_writable(path)
    if path.suffix == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise InputError(f"{path}: Parquet needs pyarrow; pip install 'mggcn[tables]'") from None


@contextmanager
def _csv(path: Path) -> Iterator[Callable[[Columns], None]]:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        named: list[str] = []

        def append(columns: Columns) -> None:
            if not named:
                named.extend(columns)
                writer.writerow(named)
            writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))

        yield append


@contextmanager
def _json_lines(path: Path) -> Iterator[Callable[[Columns], None]]:
    with path.open("w", encoding="utf-8", newline="") as file:

        def append(columns: Columns) -> None:
            for row in zip(*(column.tolist() for column in columns.values()), strict=True):
                file.write(json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n")

        yield append


@contextmanager
def _parquet(path: Path) -> Iterator[Callable[[Columns], None]]:
    """Every call writes a row group; the types of columns are those of the first."""
    from pyarrow import parquet, table

    with ExitStack() as stack:
        writers: list[parquet.ParquetWriter] = []

        def append(columns: Columns) -> None:
            rows = table({name: _arrow(column) for name, column in columns.items()})
            if not writers:
                writers.append(stack.enter_context(parquet.ParquetWriter(path, rows.schema)))
            writers[0].write_table(rows)

        yield append


def _arrow(column: NDArray[Any]) -> Any:
    """Numbers as they are, text and columns of objects as text, in which None is missing."""
    import pyarrow

    if column.dtype.kind in "OU":
        return pyarrow.array(column, pyarrow.string())
    return pyarrow.array(_values(column))


def _values(column: NDArray[Any]) -> NDArray[Any] | list[Any]:
    """Numbers as they are, everything else as Python's values."""
    return np.ascontiguousarray(column) if column.dtype.kind in "iuf" else column.tolist()
