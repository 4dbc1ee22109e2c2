"""Files of tables, be they Parquet, CSV or JSON, in the groups that an engine reads at once."""

import csv
import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, cast

from mggcn.datasets import columns
from mggcn.datasets.blame import blaming, reason
from mggcn.errors import InputError
from mggcn.ethereum.formats import assigned, recognise

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


@dataclass(frozen=True)
class Source:
    """Files with the same columns.

    Args:
        files: at least one.
        container: how they hold a table; JSON is one object a line.
        names: their columns.
        format: which of the known ones, in words.
        roles: the column of each role.
    """

    files: tuple[Path, ...]
    container: Container
    names: tuple[str, ...]
    format: str
    roles: dict[str, str]

    @property
    def label(self) -> str:
        """The files in a message."""
        return str(self.files[0]) + (f" and {len(self.files) - 1} more" if len(self.files) > 1 else "")


def transactions(paths: Iterable[Path], given: Mapping[str, str] | None, work: Path) -> list[Source]:
    """The files of transactions in groups; folders stand for the files in them, empty files for nothing.

    Args:
        paths: files and folders.
        given: the column of each role, where the user said it.
        work: a folder for what must be rewritten before an engine can read it.
    """
    groups: dict[tuple[object, ...], list[Path]] = {}
    found: dict[tuple[object, ...], Source] = {}
    for path in expand(paths):
        if path.stat().st_size == 0:
            continue
        file, container, names = _table(path, work)
        with blaming(path):
            form, roles = recognise(names, given)
        one = Source((file,), container, tuple(names), form, roles)
        key = (container, one.names, form)
        groups.setdefault(key, []).append(file)
        found[key] = one
    if not found:
        raise InputError("no transactions: every file given is empty")
    return [
        Source(tuple(sorted(groups[key])), one.container, one.names, one.format, one.roles)
        for key, one in found.items()
    ]


def beside(path: Path, roles: Mapping[str, tuple[str, ...]], needed: Sequence[str], work: Path) -> Source:
    """A table that goes with the transactions: receipts, blocks or balances."""
    files = expand([path])
    tables = [_table(file, work) for file in files]
    _, container, names = tables[0]
    found = assigned(names, roles)
    for role in needed:
        if role not in found:
            raise InputError(f"{files[0]}: no column {' or '.join(map(repr, roles[role]))}")
    for file, (_, *other) in zip(files, tables, strict=True):
        if other != [container, names]:
            raise InputError(f"{file}: its columns differ from those of {files[0]}")
    return Source(tuple(file for file, *_ in tables), container, tuple(names), "table", found)


def expand(paths: Iterable[Path]) -> list[Path]:
    """Files, and in place of folders the tables in them; each once."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(one for one in path.rglob("*") if one.is_file() and _container(one))
            if not inside:
                raise InputError(f"{path}: holds no .parquet, .csv or .json file")
            files += inside
        elif not path.is_file():
            raise InputError(f"{path}: no such file")
        else:
            files.append(path)
    resolved = [path.resolve() for path in files]
    for place, path in enumerate(resolved):
        if path in resolved[:place]:
            raise InputError(f"{files[place]}: given twice")
    return files


def _container(path: Path) -> Container | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    return _SUFFIXES.get(suffixes[-1]) if suffixes else None


def _table(path: Path, work: Path) -> tuple[Path, Container, list[str]]:
    container = _container(path)
    if container is None:
        raise InputError(f"{path}: not a .parquet, .csv or .json file")
    if container == "json":
        return _json_table(path, work)
    if path.suffix.lower() != ".gz":
        return path, container, _named(columns.header(path))
    with blaming(path), _opened(path) as file:
        return path, container, _named(next(csv.reader(file), []))


def _named(names: list[str]) -> list[str]:
    """A CSV file of pandas has a column without a name."""
    return [name or f"column {place}" for place, name in enumerate(names)]


def _json_table(path: Path, work: Path) -> tuple[Path, Container, list[str]]:
    """The keys of the first line; a file that is one document is rewritten with one row a line."""
    with blaming(path), _opened(path) as file:
        first = next((line for line in file if line.strip()), "")
        try:
            row = json.loads(first)
        except json.JSONDecodeError:
            row = None
        if isinstance(row, dict) and not any(key in row for key in _LISTS):
            return path, "json", list(row)
        rows = _document(path) if row is None else _rows(row)
        names = list(dict.fromkeys(name for one in rows for name in one))
        lines = work / f"{len(list(work.iterdir()))}-{path.stem}.jsonl"
        lines.write_text("".join(json.dumps(one) + "\n" for one in rows))
        return lines, "json", names


def _document(path: Path) -> list[dict[str, Any]]:
    with _opened(path) as file:
        try:
            return _rows(json.load(file))
        except json.JSONDecodeError as error:
            raise InputError(f"not valid JSON ({reason(error)})") from None


def _rows(document: object) -> list[dict[str, Any]]:
    if isinstance(document, dict):
        key = next((key for key in _LISTS if key in document), None)
        if key is None:
            raise InputError(f"neither rows nor an answer with {' or '.join(map(repr, _LISTS))}")
        document = document[key]
    if not isinstance(document, list) or not all(isinstance(row, dict) for row in document):
        raise InputError(f"its rows are not a list of objects but {str(document)[:80]!r}")
    return document


def _opened(path: Path) -> IO[str]:
    if path.suffix.lower() == ".gz":
        return cast("IO[str]", gzip.open(path, "rt", encoding="utf-8-sig", newline=""))
    return path.open(encoding="utf-8-sig", newline="")
