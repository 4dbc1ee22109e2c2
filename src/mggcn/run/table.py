"""Tables of nodes under the user's ids: as CSV, JSON lines or Parquet files, and as pandas data frames."""

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mggcn.errors import InputError
from mggcn.files import check_file_writable, write_atomically

if TYPE_CHECKING:
    import pandas

FORMATS = (".csv", ".jsonl", ".parquet")

Columns = Mapping[str, NDArray[Any]]


def write_table(path: Path, columns: Columns) -> None:
    """Write columns in the format of the suffix."""
    written = {".csv": _csv, ".jsonl": _json_lines}.get(path.suffix, _parquet)
    write_atomically(path, written(columns))


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


def _csv(columns: Columns) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return text.getvalue().encode()


def _json_lines(columns: Columns) -> bytes:
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    lines = (json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def _parquet(columns: Columns) -> bytes:
    import pyarrow
    from pyarrow import parquet

    sink = io.BytesIO()
    arrays = {name: pyarrow.array(_values(column)) for name, column in columns.items()}
    is_empty = {name: array.null_count == len(array) for name, array in arrays.items()}
    typed = {name: array.cast(pyarrow.string()) if is_empty[name] else array for name, array in arrays.items()}
    parquet.write_table(pyarrow.table(typed), sink)
    return sink.getvalue()


def _values(column: NDArray[Any]) -> NDArray[Any] | list[Any]:
    """Numbers as they are, everything else as Python's values."""
    return np.ascontiguousarray(column) if column.dtype.kind in "iuf" else column.tolist()
