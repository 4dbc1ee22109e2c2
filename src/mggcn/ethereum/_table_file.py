"""One file of a table in Parquet, CSV or JSON: its columns and types, and what an engine reads in its place."""

import csv
import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, cast
from uuid import uuid4

from pyarrow import parquet

from mggcn.datasets import columns
from mggcn.errors import InputError, first_line, prefix_errors

FileFormat = Literal["parquet", "csv", "json"]

_FORMATS: dict[str, FileFormat] = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv"}
_FORMATS |= dict.fromkeys((".json", ".jsonl", ".ndjson"), "json")
_ROW_KEYS = ("result", "res")  # the key of the rows in an answer of Etherscan's API, or in a log of one
_JSON_COLUMNS = (
    "DESCRIBE SELECT * FROM read_json(?, format='newline_delimited', records='true', sample_size=-1, maximum_depth=1)"
)


@dataclass(frozen=True)
class TableFile:
    """A file and its columns.

    Args:
        file: what an engine reads: the file itself, or its rows rewritten as JSON with one object per line.
        format: of that file; JSON has one object per line.
        columns: the names of the columns; empty if the file is.
        types: of the columns, for Parquet.
    """

    file: Path
    format: FileFormat
    columns: tuple[str, ...]
    types: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[object, ...]:
        """What files must have in common to be read together."""
        return self.format, self.columns, self.types


def file_format(path: Path) -> FileFormat | None:
    """Return the format that the name of a file stands for."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    return _FORMATS.get(suffixes[-1]) if suffixes else None


def inspect(path: Path, work: Path) -> TableFile:
    """Return the columns of a file; ``work`` is a folder for files that must be rewritten for the engines."""
    kind = file_format(path)
    if kind is None:
        raise InputError(f"{path}: not a .parquet, .csv or .json file")
    if kind == "json":
        return _inspect_json(path, work)
    if kind == "parquet":
        names = columns.header(path)
        return TableFile(path, kind, tuple(names), tuple(str(field.type) for field in parquet.read_schema(path)))
    if path.suffix.lower() != ".gz":
        return TableFile(path, kind, _with_names(columns.header(path)))
    with _open_text(path) as file:
        return TableFile(path, kind, _with_names(next(csv.reader(file), [])))


def _with_names(names: list[str]) -> tuple[str, ...]:
    """Give a name to the column without one that pandas writes into a CSV file."""
    return tuple(name or f"column {number}" for number, name in enumerate(names))


def _inspect_json(path: Path, work: Path) -> TableFile:
    """Inspect a file with one row per line, or rewrite documents of rows to that form."""
    with _open_text(path) as file:
        first = next((line for line in file if line.strip()), "")
        if not first:
            return TableFile(path, "json", ())
        try:
            row = json.loads(first)
        except json.JSONDecodeError:
            row = None
        if isinstance(row, dict) and not any(key in row for key in _ROW_KEYS):
            return TableFile(path, "json", _json_columns(path, file))
        documents = [first + file.read()] if row is None else [first, *(line for line in file if line.strip())]
        rows = [row for document in documents for row in _document_rows(document)]
    rewritten = work / f"{uuid4().hex}.jsonl"
    rewritten.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return TableFile(rewritten, "json", tuple(dict.fromkeys(name for row in rows for name in row)))


def _json_columns(path: Path, file: IO[str]) -> tuple[str, ...]:
    """Return the keys of all lines; exports leave out the keys of null values, so one line is not enough."""
    import duckdb

    try:
        with duckdb.connect() as connection:
            return tuple(name for name, *_ in connection.execute(_JSON_COLUMNS, [str(path)]).fetchall())
    except duckdb.Error as error:
        file.seek(0)
        _check_lines(file)
        raise InputError(first_line(error)) from None


def _check_lines(file: IO[str]) -> None:
    """Raise an error that names the first line that is not a JSON object."""
    for number, line in enumerate(file, 1):
        try:
            row = json.loads(line) if line.strip() else {}
        except json.JSONDecodeError as error:
            raise InputError(f"line {number}: not valid JSON ({error.msg})") from None
        if not isinstance(row, dict):
            raise InputError(f"line {number}: not an object but {line.strip()[:80]!r}")


def _document_rows(text: str) -> list[dict[str, Any]]:
    try:
        rows = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON ({first_line(error)})") from None
    if isinstance(rows, dict):
        key = next((key for key in _ROW_KEYS if key in rows), None)
        if key is None:
            raise InputError(f"neither rows nor an answer with {' or '.join(map(repr, _ROW_KEYS))}")
        rows = rows[key]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"its rows are not a list of objects but {str(rows)[:80]!r}")
    return rows


@contextmanager
def _open_text(path: Path) -> Iterator[IO[str]]:
    """Open a file, compressed or not, as text; errors in the block name it."""
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with prefix_errors(path), opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield cast("IO[str]", file)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not readable ({first_line(error)})") from None
