"""Groups the files of a build into tables that an engine can read at once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mggcn.errors import InputError, prefix_errors
from mggcn.ethereum._table_file import FileFormat, TableFile, file_format, inspect
from mggcn.ethereum.formats import assign_roles, recognise

_MOST_NAMED = 3  # files that a message names before it counts the rest


@dataclass(frozen=True)
class TableFiles:
    """Files with the same columns of the same types.

    Args:
        files: what an engine reads, at least one.
        originals: the user's files, from which some of ``files`` may be rewritten.
        format: of the files; JSON has one object per line.
        columns: the names of the columns.
        kind: the name of the recognised format of transactions.
        roles: the column of each role.
    """

    files: tuple[Path, ...]
    originals: tuple[Path, ...]
    format: FileFormat
    columns: tuple[str, ...]
    kind: str
    roles: dict[str, str]

    @property
    def label(self) -> str:
        """The files in a message."""
        return name_files(self.originals, 1)

    def split(self) -> list["TableFiles"]:
        """Return one table for each file."""
        pairs = zip(self.files, self.originals, strict=True)
        return [replace(self, files=(file,), originals=(original,)) for file, original in pairs]


def transaction_tables(paths: Iterable[Path], roles: Mapping[str, str] | None, work: Path) -> list[TableFiles]:
    """Group files of transactions by their columns; a folder stands for its files, and empty files are skipped.

    Args:
        paths: files and folders.
        roles: the column of each role, if the user gave them.
        work: a folder for files that must be rewritten for the engines.
    """
    groups: dict[tuple[object, ...], list[tuple[Path, TableFile]]] = {}
    recognised: dict[tuple[object, ...], tuple[str, dict[str, str]]] = {}
    files = expand(paths)
    for path in files:
        table = inspect(path, work) if path.stat().st_size else None
        if table is None or not table.columns:
            continue
        if table.shape not in recognised:
            with prefix_errors(path):
                recognised[table.shape] = recognise(table.columns, roles)
        groups.setdefault(table.shape, []).append((path, table))
    if not groups:
        raise InputError(f"no transactions: every file given is empty ({name_files(files)})")
    return [_group(sorted(group, key=lambda pair: pair[0]), *recognised[shape]) for shape, group in groups.items()]


def extra_table(path: Path, roles: Mapping[str, tuple[str, ...]], required: Sequence[str], work: Path) -> TableFiles:
    """Return a table that accompanies the transactions: receipts, blocks or balances."""
    tables = [(file, inspect(file, work)) for file in expand([path])]
    file, first = tables[0]
    assigned = assign_roles(first.columns, roles)
    for role in required:
        if role not in assigned:
            raise InputError(f"{file}: no column {' or '.join(map(repr, roles[role]))}")
    for other, table in tables:
        if table.shape != first.shape:
            raise InputError(f"{other}: its columns, or their types, differ from those of {file}")
    return _group(tables, "table", assigned)


def expand(paths: Iterable[Path]) -> list[Path]:
    """Replace folders by the tables in them; a file must not occur twice."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            tables = sorted(file for file in path.rglob("*") if file.is_file() and file_format(file))
            if not tables:
                raise InputError(f"{path}: holds no .parquet, .csv or .json file")
            files += tables
        elif not path.is_file():
            raise InputError(f"{path}: no such file")
        else:
            files.append(path)
    seen: set[Path] = set()
    for path in files:
        if path.resolve() in seen:
            raise InputError(f"{path}: given twice")
        seen.add(path.resolve())
    return files


def name_files(files: Sequence[Path], most: int = _MOST_NAMED) -> str:
    """Return the names of the first files, and the number of the others."""
    more = f" and {len(files) - most} more" if len(files) > most else ""
    return ", ".join(map(str, files[:most])) + more


def _group(tables: Sequence[tuple[Path, TableFile]], kind: str, roles: dict[str, str]) -> TableFiles:
    originals, contents = zip(*tables, strict=True)
    files = tuple(table.file for table in contents)
    return TableFiles(files, originals, contents[0].format, contents[0].columns, kind, roles)
