"""Tables in files as chunks of columns, so that a large one is never in memory as text.

CSV and TSV need nothing else and errors name lines; DuckDB reads Parquet, JSON and what is compressed with Zstandard.
"""

import csv
import glob
import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from mggcn.data._columns import Chunk
from mggcn.errors import InputError, first_line, prefix_errors

CHUNK = 1 << 16

Paths = str | Path | Sequence[str | Path]

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": ","}
_OTHER_DELIMITERS = ("\t", ";", "|")  # of a .csv or .txt file whose header has no comma
_READERS = dict.fromkeys((".parquet", ".pq"), "read_parquet(?)")
_READERS |= dict.fromkeys(
    (".json", ".jsonl", ".ndjson"),
    "read_json(?, sample_size = -1, dateformat = 'none', timestampformat = 'none')",  # dates stay as they are written
)
_TEXT_READER = "read_csv(?, all_varchar = true, header = true, skip = 0, delim = '{}', quote = '\"', escape = '\"')"
_COMPRESSED = (".gz", ".zst")


@dataclass(frozen=True)
class InputTable:
    """A table of files or in memory, which can be read more than once.

    Attributes:
        label: what messages call it.
        name: a short name, for the data set's source.
        names: the columns.
        read: returns the rows of some columns from the start.
        categorical: the columns whose type says that their values are categories.
    """

    label: str
    name: str
    names: Sequence[str]
    read: Callable[[Sequence[str]], Iterable[Chunk]]
    categorical: Sequence[str] = ()

    @classmethod
    def of(cls, paths: Paths) -> "InputTable":
        """The table in a file, in the files of a pattern such as ``edges-*.csv``, or in several of these."""
        files = _expand(paths)
        names = header(files[0])
        for file in files[1:]:
            if sorted(header(file)) != sorted(names):
                raise InputError(f"{file}: its columns differ from those of {files[0]}")
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        return cls(f"{files[0]}{more}", f"{files[0].name}{more}", names, partial(_read, files))

    def require(self, column: str) -> None:
        """Raise InputError unless the table has a column."""
        if column not in self.names:
            raise InputError(f"{self.label}: column {column!r} is missing (it has {', '.join(map(repr, self.names))})")

    def chunks(self, wanted: Sequence[str]) -> Iterable[Chunk]:
        """The rows of the ``wanted`` columns; of files 65,536 at a time."""
        for column in wanted:
            self.require(column)
        return self.read(wanted)


def _read(files: Sequence[Path], wanted: Sequence[str]) -> Iterator[Chunk]:
    for file in files:
        with prefix_errors(file):
            yield from _csv_chunks(file, wanted) if _is_plain_text(file) else _duckdb_chunks(file, wanted)


def header(path: Path) -> list[str]:
    """The column names of a file."""
    if not path.is_file():
        raise InputError(f"{path}: a folder, not a file" if path.is_dir() else f"{path}: no such file")
    with prefix_errors(path):
        names = _csv_header(path)[0] if _is_plain_text(path) else list(_relation(path).columns)
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"column {name!r} is twice in the header")
    return names


def _expand(paths: Paths) -> tuple[Path, ...]:
    files: list[Path] = []
    for path in [paths] if isinstance(paths, str | Path) else paths:
        if Path(path).exists() or not glob.has_magic(str(path)):
            files.append(Path(path))
        elif matches := sorted(glob.glob(str(path), recursive=True)):  # noqa: PTH207 - also for absolute ones
            files += map(Path, matches)
        else:
            raise InputError(f"{path}: no such file")
    if not files:
        raise InputError("no files")
    for file in files:
        if files.count(file) > 1:
            raise InputError(f"{file}: given twice")
    return tuple(files)


def _kind(path: Path) -> tuple[str, str]:
    """The ending that says how to read a file, and the ending of its compression."""
    endings = [ending.lower() for ending in path.suffixes]
    compression = endings.pop() if endings and endings[-1] in _COMPRESSED else ""
    kind = endings[-1] if endings else ""
    if kind not in _DELIMITERS and kind not in _READERS:
        known = ", ".join([*_DELIMITERS, *_READERS])
        raise InputError(f"not a table: its name must end in {known}, and then maybe {' or '.join(_COMPRESSED)}")
    return kind, compression


def _is_plain_text(path: Path) -> bool:
    kind, compression = _kind(path)
    return kind in _DELIMITERS and compression != ".zst"


@contextmanager
def _open_text(path: Path) -> Iterator[IO[str]]:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rt", newline="", encoding="utf-8-sig") as file:
            yield cast("IO[str]", file)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"not readable ({first_line(error)})") from None


def _csv_header(path: Path) -> tuple[list[str], str]:
    """The column names and the delimiter."""
    delimiter = _DELIMITERS[_kind(path)[0]]
    try:
        with _open_text(path) as file:
            line = file.readline()
        names = next(csv.reader([line], strict=True, delimiter=delimiter), [])
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"line 1: {first_line(error)}") from None
    if not names:
        raise InputError("empty; a header with column names is needed")
    if len(names) == 1 and delimiter == ",":
        delimiter = next((other for other in _OTHER_DELIMITERS if other in line), delimiter)
        names = next(csv.reader([line], delimiter=delimiter))
    return names, delimiter


def _csv_chunks(path: Path, wanted: Sequence[str]) -> Iterator[Chunk]:
    names, delimiter = _csv_header(path)
    with _open_text(path) as file:
        reader = csv.reader(file, strict=True, delimiter=delimiter)
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
            yield _chunk({name: columns[name] for name in wanted}, path, "line", lines)


def _duckdb_chunks(path: Path, wanted: Sequence[str]) -> Iterator[Chunk]:
    import duckdb

    start = 1
    selected = ", ".join(_quoted(name) for name in wanted)
    relation = _relation(path).project(selected)
    of_any_type = [name for name, kind in zip(wanted, relation.types, strict=True) if str(kind) == "JSON"]
    try:
        for batch in relation.arrow(CHUNK):
            columns = {name: _values(batch.column(i)) for i, name in enumerate(wanted)}
            columns |= {name: [value and json.loads(value) for value in columns[name]] for name in of_any_type}
            yield _chunk(columns, path, "row", range(start, start + batch.num_rows))
            start += batch.num_rows
    except (duckdb.Error, OSError) as error:
        raise InputError(f"not readable after row {start - 1} ({first_line(error)})") from None


def _chunk(columns: dict[str, Sequence[Any]], path: Path, unit: str, positions: Sequence[int]) -> Chunk:
    return Chunk(columns, len(positions), lambda row: f"{path}: {unit} {positions[row]}")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _values(column: Any) -> Any:
    """An array if nothing is lost by it, else Python objects."""
    from pyarrow import types

    kind = column.type
    is_array = types.is_floating(kind) or types.is_date(kind) or types.is_timestamp(kind)
    if is_array or ((types.is_integer(kind) or types.is_boolean(kind)) and column.null_count == 0):
        return column.to_numpy(zero_copy_only=False)
    return column.to_pylist()


def _relation(path: Path) -> Any:
    """The table in a file, of which DuckDB has read the names and types of the columns."""
    try:
        import duckdb
        import pyarrow  # noqa: F401
    except ImportError:
        raise InputError("this format needs DuckDB and pyarrow: pip install 'mggcn[tables]'") from None
    kind, _ = _kind(path)
    reader = _READERS.get(kind) or _TEXT_READER.format(_DELIMITERS[kind])
    try:
        return duckdb.connect().sql(f"SELECT * FROM {reader}", params=[str(path)])  # noqa: S608 - no input in it
    except (duckdb.Error, OSError) as error:
        what = {"read_p": "Parquet", "read_j": "JSON"}.get(reader[:6], "CSV")
        raise InputError(f"not a readable {what} file ({first_line(error)})") from None
