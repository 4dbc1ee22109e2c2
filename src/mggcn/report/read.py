"""Reading the records that a report is made of, from run folders and ledgers."""

import math
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import get_origin

from mggcn.errors import InputError
from mggcn.ledger import Ledger
from mggcn.record import Epoch, RunRecord

RECORD, RECORDS = "record.json", "records.jsonl"
_MAY_DIVERGE = ("val_loss", "train_loss")


def read(paths: Iterable[Path]) -> list[RunRecord]:
    """All records of run folders, of ledgers, of their files, and of folders that hold such at any depth."""
    records: list[RunRecord] = []
    for path in paths:
        found = _read(path)
        if not found:
            raise InputError(f"{path}: holds no records")
        records += found
    if not records:
        raise InputError("report: name a run folder or a records.jsonl")
    return records


def _read(path: Path) -> list[RunRecord]:
    if not path.exists():
        raise InputError(f"{path}: does not exist")
    if path.is_dir():
        inside = [path / name for name in (RECORD, RECORDS) if (path / name).is_file()]
        inside = inside or sorted([*path.rglob(RECORD), *path.rglob(RECORDS)])
        if not inside:
            raise InputError(f"{path}: holds neither a {RECORD} nor a {RECORDS}")
        return [record for each in inside for record in _read(each)]
    if path.suffix == ".jsonl":
        found = list(Ledger(path).records.values())
    elif path.suffix == ".json":
        found = [_run(path)]
    else:
        raise InputError(f"{path}: neither a run folder nor a {RECORD} nor a {RECORDS}")
    for record in found:
        _check(path, record)
    return found


def _run(path: Path) -> RunRecord:
    try:
        return RunRecord.from_json(path.read_text())
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{path}: not a run record ({error})") from None


def _check(path: Path, record: RunRecord) -> None:
    """Refuse values that cannot be reported; a record may have been written by anything."""
    parts: list[RunRecord | Epoch] = [record, *record.curve]
    for part in parts:
        for one in fields(part):
            value = getattr(part, one.name)
            if one.type in (int, float):
                good = isinstance(value, int | float) and (one.name in _MAY_DIVERGE or math.isfinite(value))
            else:
                kind = get_origin(one.type) or one.type
                good = isinstance(kind, type) and isinstance(value, kind)
            if not good:
                where = f"epoch {part.number}: " if isinstance(part, Epoch) else ""
                raise InputError(f"{path}: {where}field {one.name} is {value!r}, not what a run records")
    if not isinstance(record.dataset.get("name"), str):
        raise InputError(f"{path}: field dataset has no name")
