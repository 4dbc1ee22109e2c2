"""The files of a build: Parquet, CSV or JSON, grouped into tables that an engine can read at once.

They may be at addresses such as ``s3://bucket/folder``. Spark reads tables where they are. DuckDB, and what Python
reads, gets copies beside the folder of the build.
"""

import csv
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any, Literal, cast
from uuid import uuid4

from pyarrow import ArrowException, fs, parquet

from mggcn._io import regular
from mggcn._io.locations import Location, Source, is_address, name_errors
from mggcn._io.temporary import temporary_folder
from mggcn.data import _table_files as columns
from mggcn.errors import InputError, first_line, prefix_errors
from mggcn.ethereum._columns import assign_roles, recognise

FileFormat = Literal["parquet", "csv", "json"]

_FORMATS: dict[str, FileFormat] = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv"}
_FORMATS |= dict.fromkeys((".json", ".jsonl", ".ndjson"), "json")
_ROW_KEYS = ("result", "res")  # the key of the rows in an answer of Etherscan's API, or in a log of one
_MOST_NAMED = 3  # files that a message names before it counts the rest


@dataclass(frozen=True)
class TableFiles:
    """Files with the same columns of the same types."""

    files: tuple[Source, ...]  # what an engine reads: the user's file, or its rows as JSON with one object per line
    originals: tuple[Source, ...]  # the user's files
    format: FileFormat
    columns: tuple[str, ...]  # empty if the file is
    types: tuple[str, ...] = ()  # of Parquet's columns
    kind: str = "table"  # the name of the recognised format of transactions
    roles: dict[str, str] = field(default_factory=dict)  # the column of each role

    @property
    def label(self) -> str:
        """The files in a message."""
        return name_files(self.originals, 1)

    @property
    def shape(self) -> tuple[object, ...]:
        """What files must have in common to be read together."""
        return self.format, self.columns, self.types

    def split(self) -> list["TableFiles"]:
        """Return one table for each file."""
        pairs = zip(self.files, self.originals, strict=True)
        return [replace(self, files=(file,), originals=(original,)) for file, original in pairs]


def transaction_tables(paths: Iterable[Source], roles: Mapping[str, str] | None, work: Location) -> list[TableFiles]:
    """Group files of transactions by their columns; a folder stands for its files, and empty files are skipped.

    ``roles`` are set by the user; ``work`` is a folder for files that must be rewritten for the engines.
    """
    groups: dict[tuple[object, ...], list[TableFiles]] = {}
    files = expand(paths)
    for path in files:
        table = _inspect(path, work) if num_bytes(path) else None
        if table is None or not table.columns:
            continue
        with prefix_errors(str(path)):
            kind, assigned = recognise(table.columns, roles)
        groups.setdefault(table.shape, []).append(replace(table, kind=kind, roles=assigned))
    if not groups:
        raise InputError(f"no transactions: every file given is empty ({name_files(files)})")
    return [_merge(group) for group in groups.values()]


def extra_table(
    path: Source, roles: Mapping[str, tuple[str, ...]], required: Sequence[str], work: Location
) -> TableFiles:
    """Return a table that accompanies the transactions: receipts, blocks or balances."""
    first, *others = (_inspect(file, work) for file in expand([path]))
    assigned = assign_roles(first.columns, roles)
    for role in required:
        if role not in assigned:
            raise InputError(f"{first.label}: no column {' or '.join(map(repr, roles[role]))}")
    for other in others:
        if other.shape != first.shape:
            raise InputError(f"{other.label}: its columns, or their types, differ from those of {first.label}")
    return _merge([replace(first, roles=assigned), *others])


def expand(paths: Iterable[Source]) -> list[Source]:
    """Replace folders by the tables in them; a file must not occur twice."""
    unique: dict[Source, Source] = {}
    for path in paths:
        tables = [path]
        if path.is_dir():
            inside = path.files() if isinstance(path, Location) else sorted(path.rglob("*"))
            tables = [file for file in inside if _format(file) and (isinstance(file, Location) or file.is_file())]
            if not tables:
                raise InputError(f"{path}: holds no .parquet, .csv or .json file")
        elif not path.is_file():
            raise InputError(f"{path}: no such file")
        for file in tables:
            identity = file if isinstance(file, Location) else regular.real(file)
            if identity in unique:
                raise InputError(f"{file}: given twice")
            unique[identity] = file
    return list(unique.values())


def is_parquet(path: Source) -> bool:
    """Whether the name of a file says that it is Parquet."""
    return _format(path) == "parquet"


def num_bytes(path: Source) -> int:
    """Return the size of a file."""
    return path.num_bytes() if isinstance(path, Location) else path.stat().st_size


def open_bytes(path: Source) -> Any:
    """Open a file for reading."""
    return path.open() if isinstance(path, Location) else path.open("rb")


def name_files(files: Sequence[Source], most: int = _MOST_NAMED) -> str:
    """Return the names of the first files, and the number of the others."""
    more = f" and {len(files) - most} more" if len(files) > most else ""
    return ", ".join(map(str, files[:most])) + more


def _merge(tables: Sequence[TableFiles]) -> TableFiles:
    """Return tables of one file each, and of the same shape, as one table with its files in order."""
    tables_in_order = sorted(tables, key=lambda table: [str(original) for original in table.originals])
    files = tuple(table.files[0] for table in tables_in_order)
    originals = tuple(table.originals[0] for table in tables_in_order)
    return replace(tables[0], files=files, originals=originals)


def _format(path: Source) -> FileFormat | None:
    """Return the format that the name of a file stands for."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    return _FORMATS.get(suffixes[-1]) if suffixes else None


def _inspect(path: Source, work: Location) -> TableFiles:
    """Return a file with its columns."""
    kind = _format(path)
    if kind is None:
        raise InputError(f"{path}: not a .parquet, .csv or .json file")
    if kind == "json":
        return _inspect_json(path, work)
    if kind == "parquet":
        names = columns.header(path) if isinstance(path, Path) else ()
        with prefix_errors(str(path)):
            schema = read_schema(path)
        types = tuple(str(column.type) for column in schema)
        return TableFiles((path,), (path,), kind, tuple(names or schema.names), types)
    if isinstance(path, Path) and path.suffix.lower() != ".gz":
        return TableFiles((path,), (path,), kind, _with_names(columns.header(path)))
    with _open_text(path) as file:
        return TableFiles((path,), (path,), kind, _with_names(next(csv.reader(file), [])))


def _with_names(names: list[str]) -> tuple[str, ...]:
    """Give a name to the column without one that pandas writes into a CSV file."""
    return tuple(name or f"column {number}" for number, name in enumerate(names))


def _inspect_json(path: Source, work: Location) -> TableFiles:
    """Inspect a file with one row per line, or rewrite documents of rows to that form."""
    with _open_text(path) as file:
        first = next((line for line in file if line.strip()), "")
        if not first:
            return TableFiles((path,), (path,), "json", ())
        try:
            row = json.loads(first)
        except json.JSONDecodeError:
            row = None
        if isinstance(row, dict) and not any(key in row for key in _ROW_KEYS):
            file.seek(0)
            return TableFiles((path,), (path,), "json", _json_columns(file))
        documents = [first + file.read()] if row is None else [first, *(line for line in file if line.strip())]
        rows = [row for document in documents for row in _document_rows(document)]
    rewritten = work / f"{uuid4().hex}.jsonl"
    rewritten.write("".join(json.dumps(row) + "\n" for row in rows).encode())
    return TableFiles((rewritten,), (path,), "json", tuple(dict.fromkeys(name for row in rows for name in row)))


def _json_columns(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the keys of all lines; exports leave out the keys of null values, so one line is not enough."""
    names: dict[str, None] = {}
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line) if line.strip() else {}
        except json.JSONDecodeError as error:
            raise InputError(f"line {number}: not valid JSON ({error.msg})") from None
        if not isinstance(row, dict):
            raise InputError(f"line {number}: not an object but {line.strip()[:80]!r}")
        names |= dict.fromkeys(row)
    return tuple(names)


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


def read_schema(path: Source) -> Any:
    """Return the columns of a Parquet file."""
    try:
        with open_bytes(path) as file:
            return parquet.read_schema(file)
    except (ArrowException, OSError) as error:
        raise InputError(f"not readable ({first_line(error)})") from None


@contextmanager
def _open_text(path: Source) -> Iterator[IO[str]]:
    """Open a file, compressed or not, as text; errors in the block name it."""
    try:
        with prefix_errors(str(path)), open_bytes(path) as file:
            content = gzip.GzipFile(fileobj=file) if path.suffix.lower() == ".gz" else file
            yield cast("IO[str]", TextIOWrapper(content, encoding="utf-8-sig", newline=""))
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not readable ({first_line(error)})") from None


@contextmanager
def table_files(names: Sequence[str | None], beside: Path, *, copied: bool) -> Iterator[list[Source | None]]:
    """Yield names as files and folders that an engine reads, ``copied`` as :func:`local_files` does or in place."""
    if copied:
        with local_files(names, beside) as paths:
            yield [*paths]
    else:
        yield [Location.of(name) if name is not None and is_address(name) else _path(name) for name in names]


@contextmanager
def local_files(names: Sequence[str | None], beside: Path) -> Iterator[list[Path | None]]:
    """Yield names as paths; files and folders at addresses are copied beside a folder and removed at the end."""
    if not any(name is not None and is_address(name) for name in names):
        yield [_path(name) for name in names]
        return
    with temporary_folder(beside) as folder:
        paths: list[Path | None] = []
        for number, name in enumerate(names):
            if name is not None and is_address(name):
                paths.append(_copy(Location.of(name), folder / str(number)))
            else:
                paths.append(_path(name))
        yield paths


def _path(name: str | None) -> Path | None:
    return None if name is None else Path(name)


def _copy(source: Location, folder: Path) -> Path:
    """Copy a file or folder into a new folder under its own name."""
    target = folder / source.name
    is_folder = source.is_dir()
    if not is_folder and not source.is_file():
        raise InputError(f"{source}: no such file")
    with name_errors(source.address):
        (target if is_folder else folder).mkdir(parents=True)
        there, here = source.system, fs.LocalFileSystem()
        fs.copy_files(source.path, str(target), source_filesystem=there, destination_filesystem=here)
    return target
