"""Files of tables in the groups that an engine reads at once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mggcn.errors import InputError, prefix_errors
from mggcn.ethereum.containers import Container, Contents, container, contents
from mggcn.ethereum.formats import assigned, recognise

_NAMED = 3  # how many files a message names before it counts the rest


@dataclass(frozen=True)
class Source:
    """Files with the same columns of the same types.

    Args:
        files: at least one.
        given: the files that the user gave, which some of ``files`` may be rewritten from.
        container: how they hold a table; JSON is one object a line.
        names: their columns.
        format: which of the known ones, in words.
        roles: the column of each role.
    """

    files: tuple[Path, ...]
    given: tuple[Path, ...]
    container: Container
    names: tuple[str, ...]
    format: str
    roles: dict[str, str]

    @property
    def label(self) -> str:
        """The files in a message."""
        return listed(self.given, 1)

    def apart(self) -> list["Source"]:
        """A source for each file."""
        return [
            replace(self, files=(file,), given=(given,)) for file, given in zip(self.files, self.given, strict=True)
        ]


def transactions(paths: Iterable[Path], given: Mapping[str, str] | None, work: Path) -> list[Source]:
    """The files of transactions in groups; folders stand for the files in them, empty files for nothing.

    Args:
        paths: files and folders.
        given: the column of each role, where the user said it.
        work: a folder for what must be rewritten before an engine can read it.
    """
    groups: dict[tuple[object, ...], list[tuple[Path, Contents]]] = {}
    known: dict[tuple[object, ...], tuple[str, dict[str, str]]] = {}
    files = expand(paths)
    for path in files:
        table = contents(path, work) if path.stat().st_size else None
        if table is None or not table.names:
            continue
        if table.shape not in known:
            with prefix_errors(path):
                known[table.shape] = recognise(table.names, given)
        groups.setdefault(table.shape, []).append((path, table))
    if not groups:
        raise InputError(f"no transactions: every file given is empty ({listed(files)})")
    return [_source(sorted(groups[shape], key=lambda one: one[0]), *known[shape]) for shape in groups]


def beside(path: Path, roles: Mapping[str, tuple[str, ...]], needed: Sequence[str], work: Path) -> Source:
    """A table that goes with the transactions: receipts, blocks or balances."""
    tables = [(file, contents(file, work)) for file in expand([path])]
    file, first = tables[0]
    found = assigned(first.names, roles)
    for role in needed:
        if role not in found:
            raise InputError(f"{file}: no column {' or '.join(map(repr, roles[role]))}")
    for other, table in tables:
        if table.shape != first.shape:
            raise InputError(f"{other}: its columns, or their types, differ from those of {file}")
    return _source(tables, "table", found)


def expand(paths: Iterable[Path]) -> list[Path]:
    """Files, and in place of folders the tables in them; each once."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(one for one in path.rglob("*") if one.is_file() and container(one))
            if not inside:
                raise InputError(f"{path}: holds no .parquet, .csv or .json file")
            files += inside
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


def listed(files: Sequence[Path], most: int = _NAMED) -> str:
    """Files in a message: the first by name, the rest by number."""
    more = f" and {len(files) - most} more" if len(files) > most else ""
    return ", ".join(map(str, files[:most])) + more


def _source(tables: Sequence[tuple[Path, Contents]], form: str, roles: dict[str, str]) -> Source:
    _, first = tables[0]
    files = tuple(table.file for _, table in tables)
    return Source(files, tuple(path for path, _ in tables), first.container, first.names, form, roles)
