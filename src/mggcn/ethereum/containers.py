"""One file of a table, be it Parquet, CSV or JSON: what an engine reads of it, its columns and their types."""

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

Container = Literal["parquet", "csv", "json"]

_SUFFIXES: dict[str, Container] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
_LISTS = ("result", "res")  # where an answer of Etherscan's API, or a log of one, has its rows
_KEYS = (
    "DESCRIBE SELECT * FROM read_json(?, format='newline_delimited', records='true', sample_size=-1, maximum_depth=1)"
)


@dataclass(frozen=True)
class Contents:
    """What a file holds.

    Args:
        file: what an engine reads: the file itself, or its rows rewritten as JSON with one object a line.
        container: how it holds them; JSON is one object a line.
        names: the columns; none where nothing is in the file.
        types: of the columns, where the container has some.
    """

    file: Path
    container: Container
    names: tuple[str, ...]
    types: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[object, ...]:
        """What files that are read at once must share."""
        return self.container, self.names, self.types


def container(path: Path) -> Container | None:
    """How a file holds its table, by its name."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    return _SUFFIXES.get(suffixes[-1]) if suffixes else None


def contents(path: Path, work: Path) -> Contents:
    """What a file holds; ``work`` is a folder for what must be rewritten before an engine can read it."""
    kind = container(path)
    if kind is None:
        raise InputError(f"{path}: not a .parquet, .csv or .json file")
    if kind == "json":
        return _json_contents(path, work)
    if kind == "parquet":
        names = columns.header(path)
        return Contents(path, kind, tuple(names), tuple(str(field.type) for field in parquet.read_schema(path)))
    if path.suffix.lower() != ".gz":
        return Contents(path, kind, _named(columns.header(path)))
    with _opened(path) as file:
        return Contents(path, kind, _named(next(csv.reader(file), [])))


def _named(names: list[str]) -> tuple[str, ...]:
    """A CSV file of pandas has a column without a name."""
    return tuple(name or f"column {place}" for place, name in enumerate(names))


def _json_contents(path: Path, work: Path) -> Contents:
    """One row a line, or documents of rows, which are rewritten."""
    with _opened(path) as file:
        first = next((line for line in file if line.strip()), "")
        if not first:
            return Contents(path, "json", ())
        try:
            row = json.loads(first)
        except json.JSONDecodeError:
            row = None
        plain = isinstance(row, dict) and not any(key in row for key in _LISTS)
        if not plain:
            texts = [first + file.read()] if row is None else [first, *(line for line in file if line.strip())]
            rows = [one for text in texts for one in _rows(_parsed(text))]
    if plain:
        return Contents(path, "json", _keys(path))
    names = tuple(dict.fromkeys(name for one in rows for name in one))
    lines = work / f"{uuid4().hex}.jsonl"
    lines.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return Contents(lines, "json", names)


def _keys(path: Path) -> tuple[str, ...]:
    """The keys of all lines: exports leave out what is null."""
    import duckdb

    try:
        with duckdb.connect() as connection:
            return tuple(name for name, *_ in connection.execute(_KEYS, [str(path)]).fetchall())
    except duckdb.Error as error:
        _find_broken_line(path)
        raise InputError(f"{path}: {first_line(error)}") from None


def _find_broken_line(path: Path) -> None:
    with _opened(path) as file:
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(line) if line.strip() else {}
            except json.JSONDecodeError as error:
                raise InputError(f"line {number}: not valid JSON ({error.msg})") from None
            if not isinstance(row, dict):
                raise InputError(f"line {number}: not an object but {line.strip()[:80]!r}")


def _parsed(text: str) -> object:
    try:
        found: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON ({first_line(error)})") from None
    return found


def _rows(document: object) -> list[dict[str, Any]]:
    if isinstance(document, dict):
        key = next((key for key in _LISTS if key in document), None)
        if key is None:
            raise InputError(f"neither rows nor an answer with {' or '.join(map(repr, _LISTS))}")
        document = document[key]
    if not isinstance(document, list) or not all(isinstance(row, dict) for row in document):
        raise InputError(f"its rows are not a list of objects but {str(document)[:80]!r}")
    return document


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    """The text of a file, which whatever is wrong with it names."""
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with prefix_errors(path), opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield cast("IO[str]", file)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not readable ({first_line(error)})") from None
