"""Reading the records of a report from run folders, ledgers, experiments and packed files."""

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path

from mggcn._io import regular
from mggcn._io.files import parse_json, unsealed
from mggcn.errors import InputError, InputWarning
from mggcn.experiments._grouping import group, with_published
from mggcn.experiments._ledger import Ledger
from mggcn.experiments._packing import is_packed, unpack
from mggcn.experiments._row import PublishedLookup, Section
from mggcn.training import CHECKPOINT, RECORD, RunRecord, is_unfinished, parse_record, unfinished

RECORDS, EXPERIMENT = "records.jsonl", "experiment.json"


def read_records(paths: Iterable[Path], published: PublishedLookup | None = None) -> list[Section]:
    """Read all records of files and folders as sections, those of experiments first.

    Args:
        paths: run folders, ledgers, folders of experiments, packed files, and folders that contain these at any depth.
        published: returns the published results for a record; see :func:`mggcn.runs.published_results`.
    """
    sections: list[Section] = []
    others: list[RunRecord] = []
    for file in {regular.real(file): file for path in paths for file in _files(path)}.values():
        of_experiments, records = _read(file)
        if not of_experiments and not records:
            raise InputError(f"{file}: holds no records")
        sections += of_experiments
        others += records
    if not sections and not others:
        raise InputError("report: name a run folder or a records.jsonl")
    return [with_published(section, published) for section in [*sections, *group(others)]]


def record_files(paths: Iterable[Path]) -> set[Path]:
    """The files that :func:`read_records` reads, including those that experiments write beside their ledgers."""
    records = [file for path in paths for file in _files(path)]
    beside = [file.with_name(EXPERIMENT) for file in records if file.name == RECORDS]
    return {regular.real(file) for file in records + beside}


def read_experiment(path: Path, ledger: Ledger | None = None) -> tuple[list[Section], list[RunRecord]]:
    """The sections that an ``experiment.json`` describes, and the records of the ledger that it does not name."""
    records = ledger.records if ledger else {}
    return _read_json(path, records) if path.is_file() else ([], list(records.values()))


def _is_hidden(file: Path, folder: Path) -> bool:
    """Whether a file is a draft or in one, or in another hidden folder."""
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def _files(path: Path) -> list[Path]:
    """The files with records in a path; an experiment stands for its ledger if there is one."""
    if not path.exists():
        raise InputError(f"{path}: does not exist")
    if not path.is_dir():
        if path.name == EXPERIMENT and path.with_name(RECORDS).is_file():
            return [path.with_name(RECORDS)]
        return [path]
    kinds = (RECORD, RECORDS, EXPERIMENT)
    inside = [path / name for name in kinds if (path / name).is_file()]
    inside = inside or sorted(file for name in kinds for file in path.rglob(name) if not _is_hidden(file, path))
    if is_unfinished(path):
        raise InputError(unfinished(path))
    found = (each.parent for each in path.rglob(CHECKPOINT) if not _is_hidden(each, path))
    for folder in sorted(folder for folder in found if is_unfinished(folder)):
        warnings.warn(f"{unfinished(folder)}; left out", InputWarning, stacklevel=2)
    if not inside:
        raise InputError(f"{path}: holds neither a {RECORD} nor a {RECORDS}")
    return [file for each in inside for file in _files(each)]


def _read(path: Path) -> tuple[list[Section], list[RunRecord]]:
    if path.suffix == ".jsonl":
        ledger = Ledger(path)
        if path.name != RECORDS:
            return [], list(ledger.records.values())
        experiment = path.with_name(EXPERIMENT)
        if not ledger.records and experiment.is_file():
            warnings.warn(f"{path}: holds no records", InputWarning, stacklevel=2)
        return read_experiment(experiment, ledger)
    if path.suffix != ".json":
        raise InputError(f"{path}: neither a run folder nor a {RECORD} nor a {RECORDS}")
    return _read_json(path, {})


def _read_json(path: Path, known: Mapping[str, RunRecord]) -> tuple[list[Section], list[RunRecord]]:
    try:
        content, is_sealed = unsealed(regular.read(path))
        values = parse_json(content)
        if is_packed(values):
            return unpack(values, known, is_sealed=is_sealed)
        if path.name == EXPERIMENT:
            raise ValueError("written by an older version, or not by mggcn")
        return [], [parse_record(values, is_sealed=is_sealed)[0]]
    except (ValueError, IndexError) as error:
        what = "the description of an experiment" if path.name == EXPERIMENT else "a run record"
        raise InputError(f"{path}: not {what} ({error})") from None
