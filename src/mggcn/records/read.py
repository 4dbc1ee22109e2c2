"""Reading the records that a report is made of, from run folders, ledgers, experiments and packed files."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from mggcn.errors import InputError
from mggcn.records import pack
from mggcn.records.ledger import Ledger
from mggcn.records.lines import Source
from mggcn.records.record import RunRecord
from mggcn.records.sheet import Sheet

RECORD, RECORDS, EXPERIMENT = "record.json", "records.jsonl", "experiment.json"


def read(paths: Iterable[Path]) -> list[Source]:
    """All records of run folders, ledgers, experiments, packed files, and folders that hold such at any depth."""
    sources: list[Source] = []
    for file in {file.resolve(): file for path in paths for file in _files(path)}.values():
        found = list(_read(file))
        if not any(source.records or source.sheet for source in found):
            raise InputError(f"{file}: holds no records")
        sources += found
    if not sources:
        raise InputError("report: name a run folder or a records.jsonl")
    return sources


def files(paths: Iterable[Path]) -> set[Path]:
    """Where the files are that :func:`read` reads, what experiments say of their ledgers among them."""
    found = [file for path in paths for file in _files(path)]
    sheets = [file.with_name(EXPERIMENT) for file in found if file.name == RECORDS]
    return {file.resolve() for file in found + sheets}


def read_sheet(path: Path) -> Sheet | None:
    """What an experiment says of its runs; None where there is no such file."""
    if not path.is_file():
        return None
    try:
        return Sheet.from_json(path.read_text())
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{path}: not what an experiment says of its runs ({error})") from None


def _files(path: Path) -> list[Path]:
    """The files with records that a path stands for; an experiment stands for its ledger where there is one."""
    if not path.exists():
        raise InputError(f"{path}: does not exist")
    if not path.is_dir():
        if path.name == EXPERIMENT and path.with_name(RECORDS).is_file():
            return [path.with_name(RECORDS)]
        return [path]
    kinds = (RECORD, RECORDS, EXPERIMENT)
    inside = [path / name for name in kinds if (path / name).is_file()]
    inside = inside or sorted(found for name in kinds for found in path.rglob(name))
    if not inside:
        raise InputError(f"{path}: holds neither a {RECORD} nor a {RECORDS}")
    return [file for found in inside for file in _files(found)]


def _read(path: Path) -> Iterator[Source]:
    if path.suffix == ".jsonl":
        yield Source(Ledger(path).records, read_sheet(path.with_name(EXPERIMENT)) if path.name == RECORDS else None)
    elif path.name == EXPERIMENT:
        yield Source({}, read_sheet(path))
    elif path.suffix == ".json":
        try:
            given = json.loads(path.read_text())
            yield from pack.unpacked(given) if pack.is_packed(given) else [Source.of([RunRecord.of(given)])]
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise InputError(f"{path}: not a run record ({error})") from None
    else:
        raise InputError(f"{path}: neither a run folder nor a {RECORD} nor a {RECORDS}")
