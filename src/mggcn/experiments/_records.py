"""Records in files: the ledger of an experiment and packed files are written; these and run folders are read.

A ledger is a log of the records of finished runs, each with the digest of its spec.

A packed file holds the runs of sections in one small JSON file that can be committed. Shared values are written once:
data sets and environments in lists to which rows refer by index; method, settings, device and what an experiment says,
once for each row. A row (``lines`` in the file) has a list over its seeds for each field, and the curve of its first
seed only, thinned, as a list for each column; the times of left-out epochs are added to those of the next one. Numbers
have six digits. Absolute paths are left out because they are of one machine, names of features because only
predictions need them.

An experiment writes the same format beside its ledger, with the digests of its runs (``specs``) instead of the runs.
"""

import itertools
import json
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path, PurePath
from typing import Any, TypedDict

import msgspec

from mggcn._io import regular
from mggcn._io.files import checksummed, parse_json, typed, without_checksum
from mggcn._io.log import Log
from mggcn.errors import InputError, InputWarning
from mggcn.experiments._sections import (
    ExperimentInfo,
    Row,
    Section,
    experiment_section,
    group,
)
from mggcn.training import (
    CHECKPOINT,
    MAY_DIVERGE,
    MEMBERS,
    RECORD,
    Epoch,
    Member,
    RunRecord,
    best_recipe,
    is_unfinished,
    parse_record,
    spaced,
    unfinished,
)

FORMAT, VERSION = "mggcn-records", 2
RECORDS, EXPERIMENT = "records.jsonl", "experiment.json"
_MOST_POINTS = 100
_SHARED = ("dataset", "method", "settings", "device", "curve", "environment")
_PER_SEED = [field.name for field in fields(RunRecord) if field.name not in _SHARED]
_DEFAULTS = {field.name: field.default for field in fields(RunRecord)}
_SAID = ("label", "method", "reference", "grows", "reasons", "specs")
"""What an experiment says of a row."""
_ADDED_UP = ("train_seconds", "eval_seconds")


class _File(msgspec.Struct):
    sections: list["_Part"]
    datasets: list[dict[str, Any]]
    environments: list[dict[str, Any]]


class _Part(msgspec.Struct):
    experiment: ExperimentInfo | None
    dataset: str
    lines: list[dict[str, Any]]


class _Runs(msgspec.Struct):
    """The runs of a row."""

    dataset: int
    method: str
    device: str
    settings: dict[str, Any]
    environments: list[int]
    runs: dict[str, list[Any]]
    curve: dict[str, list[Any]]


class Ledger:
    """Records by the digest of their spec: read when the ledger is opened, written to the disk as they are added.

    Args:
        path: the file; created with the first record.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._log = Log(path, "the record of a run", _parse)
        self.records: dict[str, RunRecord] = dict(self._log.read())

    def add(self, spec: str, record: RunRecord) -> None:
        """Append a record and flush it to the disk; other processes may do the same."""
        self._log.append({"spec": spec, **asdict(record)})
        self.records[spec] = record

    def unfinished(self, spec: str) -> Path:
        """The folder for the checkpoints of a run whose record is not in the ledger yet."""
        return self.path.parent / f"unfinished-{spec[:16]}"


class _Line(TypedDict):
    """What a line holds beside the record."""

    spec: str


def _parse(values: dict[str, Any]) -> tuple[str, RunRecord]:
    spec = typed(_Line, values)["spec"]
    return spec, RunRecord.of({name: value for name, value in values.items() if name != "spec"})


def read_records(paths: Iterable[Path]) -> list[Section]:
    """Read all records of files and folders as sections, those of experiments first.

    Args:
        paths: run folders, ledgers, folders of experiments, packed files, and folders that contain these at any depth.
    """
    sections: list[Section] = []
    others: list[RunRecord] = []
    for file in {regular.real(file): file for path in paths for file in _record_files(path)}.values():
        of_experiments, records = _read(file)
        if not of_experiments and not records:
            raise InputError(f"{file}: holds no records")
        sections += of_experiments
        others += records
    if not sections and not others:
        raise InputError("report: name a run folder or a records.jsonl")
    return [*sections, *group(others)]


def record_files(paths: Iterable[Path]) -> set[Path]:
    """The files that :func:`read_records` reads, including those that experiments write beside their ledgers."""
    records = [file for path in paths for file in _record_files(path)]
    beside = [file.with_name(EXPERIMENT) for file in records if file.name == RECORDS]
    return {regular.real(file) for file in records + beside}


def pack(sections: Iterable[Section]) -> str:
    """Sections as packed JSON, one line of text for each row; rows that have ``specs`` keep them instead of runs."""
    datasets: list[dict[str, Any]] = []
    environments: list[dict[str, Any]] = []
    parts = []
    for section in sections:
        rows = [_packed_row(section, row, datasets, environments) for row in section.rows]
        said = {"experiment": msgspec.to_builtins(section.experiment), "dataset": section.dataset}
        parts.append(_object(said, lines=map(_json, rows)))
    shared = {"datasets": map(_json, datasets), "environments": map(_json, environments)}
    return checksummed(_object({"format": FORMAT, "version": VERSION}, **shared, sections=parts) + "\n").decode()


def unpack(values: object, known: Mapping[str, RunRecord]) -> tuple[list[Section], list[RunRecord]]:
    """The sections of experiments in a packed file, and the records that are of no experiment.

    Raises ValueError or IndexError for what :func:`pack` does not write.

    Args:
        values: parsed.
        known: the records of a ledger, for rows that have ``specs``.
    """
    file, sections, others = typed(_File, values), [], [*known.values()]
    for part in file.sections:
        if part.experiment is None:
            others += [record for line in part.lines for record in _records(line, file)]
            continue
        rows = []
        for line in part.lines:
            row = typed(Row, {name: line[name] for name in _SAID if name in line})
            records = [known[spec] for spec in row.specs if spec in known] or _records(line, file)
            rows.append(replace(row, records=tuple(records)))
        sections.append(experiment_section(part.experiment, part.dataset, rows))
    named = {id(record) for section in sections for row in section.rows for record in row.records}
    return sections, [record for record in others if id(record) not in named]


def _is_hidden(file: Path, folder: Path) -> bool:
    """Whether a file is temporary, hidden, or in such a folder."""
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def _is_of_member(file: Path) -> bool:
    """Whether a file is in the folder of a recipe, inside the folder of its portfolio's run."""
    members = file.parent.parent
    return members.name == MEMBERS and (members.parent / RECORD).is_file()


def _record_files(path: Path) -> list[Path]:
    """The files with records in a path; an experiment stands for its ledger if there is one."""
    if not path.exists():
        raise InputError(f"{path}: does not exist")
    if not path.is_dir():
        if path.name == EXPERIMENT and path.with_name(RECORDS).is_file():
            return [path.with_name(RECORDS)]
        return [path]
    kinds = (RECORD, RECORDS, EXPERIMENT)
    inside = [path / name for name in kinds if (path / name).is_file()]
    inside = inside or sorted(
        file for name in kinds for file in path.rglob(name) if not _is_hidden(file, path) and not _is_of_member(file)
    )
    if is_unfinished(path):
        raise InputError(unfinished(path))
    found = (each.parent for each in path.rglob(CHECKPOINT) if not _is_hidden(each, path))
    for folder in sorted(folder for folder in found if is_unfinished(folder)):
        warnings.warn(f"{unfinished(folder)}; left out", InputWarning, stacklevel=2)
    if not inside:
        raise InputError(f"{path}: holds neither a {RECORD} nor a {RECORDS}")
    return [file for each in inside for file in _record_files(each)]


def _read(path: Path) -> tuple[list[Section], list[RunRecord]]:
    if path.suffix == ".json":
        return read_json(path, {})
    if path.suffix != ".jsonl":
        raise InputError(f"{path}: neither a run folder nor a {RECORD} nor a {RECORDS}")
    records, experiment = Ledger(path).records, path.with_name(EXPERIMENT)
    if path.name != RECORDS or not experiment.is_file():
        return [], list(records.values())
    if not records:
        warnings.warn(f"{path}: holds no records", InputWarning, stacklevel=2)
    return read_json(experiment, records)


def read_json(path: Path, known: Mapping[str, RunRecord]) -> tuple[list[Section], list[RunRecord]]:
    """Read a packed file or a record; sections of experiments and other records, as :func:`unpack` returns them."""
    try:
        content = regular.read(path)
        is_checksummed = content.startswith(b'{"checksum"')
        values = parse_json(without_checksum(content) if is_checksummed else content)
        if isinstance(values, dict) and values.get("format") == FORMAT:
            if (version := values.get("version")) != VERSION:
                raise ValueError(f"version {version!r}, not {VERSION}")
            if not is_checksummed:
                raise ValueError("its checksum is missing")
            return unpack(values, known)
        if path.name == EXPERIMENT:
            raise ValueError("written by an older version, or not by mggcn")
        return [], [parse_record(values)[0]]
    except (ValueError, IndexError) as error:
        what = "the description of an experiment" if path.name == EXPERIMENT else "a run record"
        raise InputError(f"{path}: not {what} ({error})") from None


def _object(values: dict[str, Any], **lists: Iterable[str]) -> str:
    """An object as JSON, with lists whose items, already JSON, have lines of their own."""
    items = [f'"{name}":[\n' + ",\n".join(texts) + "\n]" for name, texts in lists.items()]
    return "{" + ",".join([_json(values)[1:-1], *items]) + "}"


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _packed_row(
    section: Section, row: Row, datasets: list[dict[str, Any]], environments: list[dict[str, Any]]
) -> dict[str, Any]:
    line: dict[str, Any] = {}
    if section.experiment:
        said = replace(row, specs=() if row.records else row.specs)
        line = {name: value for name in _SAID if (value := getattr(said, name))}
    if row.records:
        first = row.records[0]
        line |= {"dataset": _index(_shareable(first.dataset), datasets), "method": first.method}
        line |= {"device": first.device, "settings": first.settings}
        line["environments"] = [_index(record.environment, environments) for record in row.records]
        runs = [{name: getattr(record, name) for name in _PER_SEED} for record in row.records]
        runs = [{**run, "warm_start": run["warm_start"] and _shareable(run["warm_start"])} for run in runs]
        line["runs"] = _columns(runs, _DEFAULTS)
        line["curve"] = _columns([asdict(epoch) for epoch in _thinned(first.curve)], {})
    return line


def _records(line: dict[str, Any], file: _File) -> list[RunRecord]:
    if "runs" not in line:
        return []
    row = typed(_Runs, line)
    curve = list(_rows(row.curve))
    shared = {"dataset": file.datasets[row.dataset]} | {name: line[name] for name in ("method", "settings", "device")}
    records: list[RunRecord] = []
    for environment, values in zip(row.environments, _rows(row.runs), strict=True):
        rest = {"environment": file.environments[environment], "curve": [] if records else curve}
        rest["settings"] = shared["settings"] | best_recipe(typed(list[Member], values.get("portfolio") or []))
        records.append(RunRecord.of(values | shared | rest))
    return records


def _columns(rows: Sequence[dict[str, Any]], defaults: dict[str, Any]) -> dict[str, list[Any]]:
    """A list for each field, except for fields that have only their default."""
    names = [name for name in (rows[0] if rows else ()) if any(row[name] != defaults.get(name, row) for row in rows)]
    columns: dict[str, list[Any]] = _short({name: [row[name] for row in rows] for name in names})
    return columns


def _rows(columns: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """The inverse of :func:`_columns`; diverged losses, which JSON cannot hold, become NaN again."""
    for values in zip(*columns.values(), strict=True):
        row = dict(zip(columns, values, strict=True))
        yield row | {name: math.nan for name in MAY_DIVERGE if name in row and row[name] is None}


def _shareable(values: dict[str, Any]) -> dict[str, Any]:
    """The description of a data set or of the run of a warm start, without absolute paths and names of features."""
    path = values.get("path")
    kept = {name: value for name, value in values.items() if name not in ("feature_names", "encoding")}
    return {**kept, "path": None} if path and PurePath(path).is_absolute() else kept


def _index(value: dict[str, Any], known: list[dict[str, Any]]) -> int:
    """The index of a value in a list, to which it is added if it is new."""
    if value not in known:
        known.append(value)
    return known.index(value)


def _thinned(curve: Sequence[Epoch]) -> list[Epoch]:
    kept = []
    for before, number in itertools.pairwise([-1, *spaced(len(curve), _MOST_POINTS)]):
        since = curve[before + 1 : number + 1]
        times = {name: sum(getattr(epoch, name) for epoch in since) for name in _ADDED_UP}
        kept.append(replace(curve[number], **times))
    return kept


def _short(value: Any) -> Any:
    """A value ready for JSON, with six digits for each number, None for one that is not finite."""
    return json.loads(json.dumps(value, default=asdict), parse_float=_six_digits, parse_constant=lambda _: None)


def _six_digits(text: str) -> float:
    rounded = float(f"{float(text):.6g}")
    return int(rounded) if rounded.is_integer() else rounded
