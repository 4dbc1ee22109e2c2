"""A CSV or Parquet table as chunks of columns, so that a large one is never in memory as text."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from mggcn.errors import InputError, first_line, prefix_errors

CHUNK = 1 << 16


@dataclass(frozen=True)
class Chunk:
    """Some rows of a table: strings from CSV; numbers, strings or None from Parquet."""

    columns: dict[str, Sequence[Any]]
    positions: Sequence[int]  # the line or row number of each row in its file
    unit: str  # what positions counts, "line" or "row"

    def at(self, row: int) -> str:
        """The position of a row in its file, for example ``line 7``."""
        return f"{self.unit} {self.positions[row]}"


def header(path: Path) -> list[str]:
    """The column names of a table."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    with prefix_errors(path):
        if _is_parquet(path):
            with _parquet_file(path) as file:
                names = list(file.schema_arrow.names)
        else:
            names = _csv_header(path)
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"column {name!r} is twice in the header")
    return names


def chunks(path: Path, wanted: Sequence[str]) -> Iterator[Chunk]:
    """The ``wanted`` columns of a table, 65,536 rows at a time."""
    names = header(path)
    for name in wanted:
        if name not in names:
            raise InputError(f"{path}: column {name!r} is missing (it has {', '.join(map(repr, names))})")
    with prefix_errors(path):
        yield from _parquet_chunks(path, wanted) if _is_parquet(path) else _csv_chunks(path, names, wanted)


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in {".parquet", ".pq"}


def _csv_header(path: Path) -> list[str]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        try:
            names = next(csv.reader(file, strict=True), [])
        except (csv.Error, UnicodeDecodeError) as error:
            raise InputError(f"line 1: {first_line(error)}") from None
    if not names:
        raise InputError("empty; a header with column names is needed")
    return names


def _csv_chunks(path: Path, names: list[str], wanted: Sequence[str]) -> Iterator[Chunk]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, strict=True)
        next(reader)
        numbered = ((reader.line_num, row) for row in reader if row)
        while True:
            try:
                part = list(islice(numbered, CHUNK))
            except (csv.Error, UnicodeDecodeError) as error:
                raise InputError(f"line {reader.line_num}: {first_line(error)}") from None
            if not part:
                return
            for line, row in part:
                if len(row) != len(names):
                    raise InputError(f"line {line}: {len(row)} values for {len(names)} columns")
            lines, rows = zip(*part, strict=True)
            columns = dict(zip(names, zip(*rows, strict=True), strict=True))
            yield Chunk({name: columns[name] for name in wanted}, lines, "line")


def _parquet_chunks(path: Path, wanted: Sequence[str]) -> Iterator[Chunk]:
    import pyarrow

    start = 1
    with _parquet_file(path) as file:
        try:
            for batch in file.iter_batches(CHUNK, columns=list(wanted)):
                columns = {name: _values(batch.column(name)) for name in wanted}
                yield Chunk(columns, range(start, start + batch.num_rows), "row")
                start += batch.num_rows
        except (pyarrow.ArrowException, OSError) as error:
            raise InputError(f"not readable after row {start - 1} ({first_line(error)})") from None


def _values(column: Any) -> Any:
    import pyarrow

    is_number = pyarrow.types.is_integer(column.type) or pyarrow.types.is_floating(column.type)
    return column.to_numpy() if is_number and column.null_count == 0 else column.to_pylist()


def _parquet_file(path: Path) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise InputError("Parquet needs pyarrow: pip install 'mggcn[parquet]'") from None
    try:
        return pyarrow.parquet.ParquetFile(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"not a readable Parquet file ({first_line(error)})") from None
