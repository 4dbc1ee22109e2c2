"""Reading the records that a report is made of, from run folders, ledgers, experiments and packed files."""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import get_origin

from mggcn.errors import InputError
from mggcn.ledger import Ledger
from mggcn.record import Epoch, RunRecord
from mggcn.report import pack
from mggcn.report.lines import Source
from mggcn.report.sheet import Sheet

RECORD, RECORDS, EXPERIMENT = "record.json", "records.jsonl", "experiment.json"


def read(paths: Iterable[Path]) -> list[Source]:
    """All records of run folders, ledgers, experiments, packed files, and folders that hold such at any depth."""
    sources: list[Source] = []
    files: dict[Path, Path] = {}
    for path in paths:
        for file in _files(path):
            files.setdefault(file.resolve(), file)
    for file in files.values():
        found = list(_read(file))
        for source in found:
            for record in source.records.values():
                _check(file, record)
        if not any(source.records or source.sheet for source in found):
            raise InputError(f"{file}: holds no records")
        sources += found
    if not sources:
        raise InputError("report: name a run folder or a records.jsonl")
    return sources


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


def _check(path: Path, record: RunRecord) -> None:
    """Refuse values that cannot be reported; a record may have been written by anything."""
    parts: list[RunRecord | Epoch] = [record, *record.curve]
    for part in parts:
        for one in fields(part):
            value = getattr(part, one.name)
            if value is None and one.default is None:
                continue
            if one.type in (int, float, float | None):
                good = isinstance(value, int | float) and (one.name in pack.MAY_DIVERGE or math.isfinite(value))
            else:
                kind = get_origin(one.type) or one.type
                good = isinstance(kind, type) and isinstance(value, kind)
            if not good:
                where = f"epoch {part.number}: " if isinstance(part, Epoch) else ""
                raise InputError(f"{path}: {where}field {one.name} is {value!r}, not what a run records")
    if not isinstance(record.dataset.get("name"), str):
        raise InputError(f"{path}: field dataset has no name")
    rows = record.test_confusion
    if not all(isinstance(row, list) and len(row) == len(rows) and all(type(n) is int for n in row) for row in rows):
        raise InputError(f"{path}: field test_confusion is not a square of whole numbers")
