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
from mggcn._io.locations import Location, is_address, name_errors
from mggcn.errors import InputError, first_line, prefix_errors
from mggcn.ethereum._formats import assign_roles, recognise

FileFormat = Literal["parquet", "csv", "json"]

_FORMATS: dict[str, FileFormat] = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv"}
_FORMATS |= dict.fromkeys((".json", ".jsonl", ".ndjson"), "json")
_ROW_KEYS = ("result", "res")  # the key of the rows in an answer of Etherscan's API, or in a log of one
MOST_DECIMALS = 24
_MOST_NAMED = 3  # files that a message names before it counts the rest


@dataclass(frozen=True)
class BuildInputs:
    """What a data set is built from.

    Args:
        transactions: files and folders: paths, or addresses such as ``s3://bucket/folder``.
        columns: the column of each role, for a table in no known format.
        receipts: a table for transactions without status, gas and contract.
        blocks: a table for transactions without time.
        balances: a table of balances in wei, used instead of the sums of the transactions.
        as_of: seconds since 1970; later transactions are ignored.
        any_ids: accounts are any text; else they must be addresses.
        max_dropped: the largest share of rows that may be dropped because they cannot be read.
        from_tables: the files are not transactions but the tables that the SQL script creates, exported as Parquet.
        decimals: the digits after the point of the chain's own unit; 18 for ether, whose values are in wei.
        unit: the name of that unit.
    """

    transactions: tuple[str | Path, ...]
    columns: dict[str, str] | None = None
    receipts: str | Path | None = None
    blocks: str | Path | None = None
    balances: str | Path | None = None
    as_of: int | None = None
    any_ids: bool = False
    max_dropped: float = 0.01
    from_tables: bool = False
    decimals: int = 18
    unit: str = "ether"

    def __post_init__(self) -> None:
        if not 0 <= self.decimals <= MOST_DECIMALS:
            raise InputError(f"decimals: {self.decimals} is not between 0 and {MOST_DECIMALS}")
        if not self.unit.strip():
            raise InputError("unit: it is empty")
        if self.unit == BuildInputs.unit and self.decimals != BuildInputs.decimals:
            raise InputError(f"decimals: ether has {BuildInputs.decimals}; name the unit that has {self.decimals}")

    def here(self, folder: Path) -> "BuildInputs":
        """The same files, those at addresses as copies in a folder."""
        transactions = tuple(local_copy(file, folder) for file in self.transactions)
        extra = [file and local_copy(file, folder) for file in (self.receipts, self.blocks, self.balances)]
        return replace(self, transactions=transactions, receipts=extra[0], blocks=extra[1], balances=extra[2])


@dataclass(frozen=True)
class TableFiles:
    """Files with the same columns of the same types; of documents of JSON, their rows as one object per line."""

    files: tuple[Location, ...]
    format: FileFormat
    columns: tuple[str, ...]  # empty if the file is
    types: tuple[str, ...] = ()  # of Parquet's columns
    kind: str = "table"  # the name of the recognised format of transactions
    roles: dict[str, str] = field(default_factory=dict)  # the column of each role

    @property
    def label(self) -> str:
        """The files in a message."""
        return name_files(self.files, 1)


def transaction_tables(
    paths: Iterable[str | Path], roles: Mapping[str, str] | None, work: Location
) -> list[TableFiles]:
    """Group files of transactions by their columns; a folder stands for its files, and empty files are skipped.

    Files without hashes stay apart, because copies of their rows are searched between files. ``roles`` are set by the
    user; ``work`` is a folder for files that must be rewritten for the engines.
    """
    groups: dict[object, TableFiles] = {}
    files = expand(paths)
    for path in files:
        table = _inspect(path, work)
        if not table.columns:
            continue
        with prefix_errors(str(path)):
            kind, assigned = recognise(table.columns, roles)
        shape = (table.format, table.columns, table.types) if "hash" in assigned else path
        before = groups[shape].files if shape in groups else ()
        groups[shape] = replace(table, files=before + table.files, kind=kind, roles=assigned)
    if not groups:
        raise InputError(f"no transactions: every file given is empty ({name_files(files)})")
    return list(groups.values())


def extra_table(
    path: str | Path, roles: Mapping[str, tuple[str, ...]], required: Sequence[str], work: Location
) -> TableFiles:
    """Return a table that accompanies the transactions: receipts, blocks or balances."""
    tables = [_inspect(file, work) for file in expand([path])]
    first = replace(tables[0], roles=assign_roles(tables[0].columns, roles))
    for role in required:
        if role not in first.roles:
            raise InputError(f"{first.label}: no column {' or '.join(map(repr, roles[role]))}")
    for other in tables:
        if replace(other, files=first.files, roles=first.roles) != first:
            raise InputError(f"{other.label}: its columns, or their types, differ from those of {first.label}")
    return replace(first, files=tuple(file for table in tables for file in table.files))


def expand(paths: Iterable[str | Path]) -> list[Location]:
    """Return files, and the tables in folders, in the order of their names; a file must not occur twice."""
    unique: dict[object, Location] = {}
    for path in map(Location.of, paths):
        tables = [path]
        if path.is_dir():
            tables = [file for file in path.files() if _format(file)]
            if not tables:
                raise InputError(f"{path}: holds no .parquet, .csv or .json file")
        elif not path.is_file():
            raise InputError(f"{path}: no such file")
        for file in tables:
            if unique.setdefault(regular.real(file.local) if file.local else file.path, file) is not file:
                raise InputError(f"{file}: given twice")
    return sorted(unique.values(), key=str)


def is_parquet(path: Location) -> bool:
    """Whether the name of a file says that it is Parquet."""
    return _format(path) == "parquet"


def name_files(files: Sequence[Location], most: int = _MOST_NAMED) -> str:
    """Return the names of the first files, and the number of the others."""
    more = f" and {len(files) - most} more" if len(files) > most else ""
    return ", ".join(map(str, files[:most])) + more


def _format(path: Location) -> FileFormat | None:
    """Return the format that the name of a file stands for."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    return _FORMATS.get(suffixes[-1]) if suffixes else None


def _inspect(path: Location, work: Location) -> TableFiles:
    """Return a file with its columns."""
    kind = _format(path)
    if kind is None:
        raise InputError(f"{path}: not a .parquet, .csv or .json file")
    table = TableFiles((path,), kind, ())
    if not path.num_bytes():
        return table
    if kind == "json":
        return _inspect_json(table, path, work)
    if kind == "parquet":
        schema = read_schema(path)
        table = replace(table, columns=tuple(schema.names), types=tuple(str(column.type) for column in schema))
    else:
        with _open_text(path) as file:  # pandas writes a column without a name
            names = next(csv.reader(file), [])
            table = replace(table, columns=tuple(name or f"column {number}" for number, name in enumerate(names)))
    for name in table.columns:
        if table.columns.count(name) > 1:
            raise InputError(f"{path}: column {name!r} is twice in the header")
    return table


def _inspect_json(table: TableFiles, path: Location, work: Location) -> TableFiles:
    """Inspect a file with one row per line, or rewrite documents of rows to that form."""
    with _open_text(path) as file:
        lines = (line for line in file if line.strip())
        first = next(lines, "")
        try:
            row = json.loads(first or "{}")
        except json.JSONDecodeError:
            row = None
        if isinstance(row, dict) and not any(key in row for key in _ROW_KEYS):
            file.seek(0)
            return replace(table, columns=_json_columns(file))
        documents = [first + file.read()] if row is None else [first, *lines]
        rows = [row for document in documents for row in _document_rows(document)]
    rewritten = work / f"{uuid4().hex}.jsonl"
    rewritten.write("".join(json.dumps(row) + "\n" for row in rows).encode())
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    return replace(table, files=(replace(rewritten, shown=str(path)),), columns=columns)


def _json_columns(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the keys of all lines; exports leave out the keys of null values, so one line is not enough."""
    names: dict[str, None] = {}
    for number, line in enumerate(lines, 1):
        with prefix_errors(f"line {number}"):
            row = _parsed(line) if line.strip() else {}
            if not isinstance(row, dict):
                raise InputError(f"not an object but {line.strip()[:80]!r}")
        names |= dict.fromkeys(row)
    return tuple(names)


def _document_rows(text: str) -> list[dict[str, Any]]:
    rows = _parsed(text)
    if isinstance(rows, dict):
        key = next((key for key in _ROW_KEYS if key in rows), None)
        if key is None:
            raise InputError(f"neither rows nor an answer with {' or '.join(map(repr, _ROW_KEYS))}")
        rows = rows[key]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"its rows are not a list of objects but {str(rows)[:80]!r}")
    return rows


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON ({first_line(error)})") from None


def is_simulated(path: Location) -> bool:
    """Whether a file is Parquet whose metadata marks it as simulated."""
    return is_parquet(path) and b"simulation" in (read_schema(path).metadata or {})


def read_schema(path: Location) -> Any:
    """Return the columns of a Parquet file."""
    with path.open() as file:
        try:
            return parquet.read_schema(file)
        except (ArrowException, OSError) as error:
            raise InputError(f"{path}: not a readable Parquet file ({first_line(error)})") from None


@contextmanager
def _open_text(path: Location) -> Iterator[IO[str]]:
    """Open a file, compressed or not, as text; errors in the block name it."""
    with path.open() as file, prefix_errors(str(path)):
        content = gzip.GzipFile(fileobj=file) if path.suffix.lower() == ".gz" else file
        try:
            yield cast("IO[str]", TextIOWrapper(content, encoding="utf-8-sig", newline=""))
        except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"not readable ({first_line(error)})") from None


def local_copy(name: str | Path, folder: Path) -> Path:
    """Return a path as it is; copy a file or folder at an address into a new folder, under its own name."""
    if isinstance(name, Path) or not is_address(name):
        return Path(name)
    source = Location.of(name)
    target = folder / uuid4().hex / source.name
    is_folder = source.is_dir()
    if not is_folder and not source.is_file():
        raise InputError(f"{source}: no such file")
    with name_errors(name):
        (target if is_folder else target.parent).mkdir(parents=True)
        here = fs.LocalFileSystem()
        fs.copy_files(source.path, str(target), source_filesystem=source.system, destination_filesystem=here)
    return target
