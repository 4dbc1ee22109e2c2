"""Packed records: the runs of sections in one small JSON file that can be committed and read again.

Shared values are written once: data sets and environments in lists to which rows refer by index; method, settings,
device and what an experiment says, once for each row. A row (``lines`` in the file) has a list over its seeds for each
field, and the curve of its first seed only, thinned, as a list for each column; the times of left-out epochs are added
to those of the next one. Numbers have six digits. Absolute paths are left out because they are of one machine, names
of features because only predictions need them.

An experiment writes the same format beside its ledger, with the digests of its runs (``specs``) instead of the runs.
Since version 2 a file begins with its checksum, see :func:`mggcn._io.files.sealed`. Files of earlier versions also hold
``paper``, which is not read: published results come from the package.
"""

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass, replace
from pathlib import PurePath
from typing import Any

import msgspec

from mggcn._io.files import sealed, typed
from mggcn.experiments._grouping import experiment_section, plain_label
from mggcn.experiments._row import ExperimentInfo, Row, Section
from mggcn.training import MAY_DIVERGE, Epoch, RunRecord, spaced

FORMAT, VERSION = "mggcn-records", 2
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


def pack(sections: Iterable[Section]) -> str:
    """Sections as packed JSON, one line of text for each row; rows that have ``specs`` keep them instead of runs."""
    datasets: list[dict[str, Any]] = []
    environments: list[dict[str, Any]] = []
    parts = []
    for section in sections:
        rows = [_packed_row(section, row, datasets, environments) for row in section.rows]
        said = asdict(section.experiment) if section.experiment else {}
        if said.get("reference") == "":
            del said["reference"]
        parts.append(_object({"experiment": said or None, "dataset": section.dataset}, lines=map(_json, rows)))
    shared = {"datasets": map(_json, datasets), "environments": map(_json, environments)}
    return sealed(_object({"format": FORMAT, "version": VERSION}, **shared, sections=parts) + "\n").decode()


def is_packed(values: object) -> bool:
    """Whether parsed JSON was written by :func:`pack`, in any version."""
    return isinstance(values, dict) and values.get("format") == FORMAT


def unpack(
    values: Mapping[str, Any], known: Mapping[str, RunRecord], *, is_sealed: bool
) -> tuple[list[Section], list[RunRecord]]:
    """The sections of experiments in a packed file, and the records that are of no experiment.

    Raises ValueError or IndexError for what :func:`pack` does not write.

    Args:
        values: parsed.
        known: the records of a ledger, for rows that have ``specs``.
        is_sealed: whether the file had a checksum.
    """
    version = values.get("version")
    if version not in (1, VERSION):
        raise ValueError(f"version {version!r}, not {VERSION}")
    if version == VERSION and not is_sealed:
        raise ValueError("its checksum is missing")
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
        said = replace(row, label=plain_label(section, row), specs=() if row.records else row.specs)
        line = {name: value for name in _SAID if (value := getattr(said, name))}
    if row.records:
        first = row.records[0]
        line |= {"dataset": _index(_shareable(first.dataset), datasets), "method": first.method}
        line |= {"device": first.device, "settings": first.settings}
        line["environments"] = [_index(record.environment, environments) for record in row.records]
        runs = [{name: _plain(getattr(record, name)) for name in _PER_SEED} for record in row.records]
        runs = [{**run, "warm_start": _origin(run["warm_start"])} for run in runs]
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
        records.append(RunRecord.of(values | shared | rest))
    return records


def _columns(rows: Sequence[dict[str, Any]], defaults: dict[str, Any]) -> dict[str, list[Any]]:
    """A list for each field, except for fields that have only their default."""
    names = [name for name in (rows[0] if rows else ()) if any(row[name] != defaults.get(name, row) for row in rows)]
    return {name: [_short(row[name]) for row in rows] for name in names}


def _rows(columns: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """The inverse of :func:`_columns`; diverged losses, which JSON cannot hold, become NaN again."""
    for values in zip(*columns.values(), strict=True):
        row = dict(zip(columns, values, strict=True))
        yield row | {name: math.nan for name in MAY_DIVERGE if name in row and row[name] is None}


def _shareable(dataset: dict[str, Any]) -> dict[str, Any]:
    path = dataset.get("path")
    kept = {name: value for name, value in dataset.items() if name not in ("feature_names", "encoding")}
    return {**kept, "path": None} if path and PurePath(path).is_absolute() else kept


def _origin(warm_start: dict[str, Any] | None) -> dict[str, Any] | None:
    return {name: value for name, value in warm_start.items() if name != "path"} if warm_start else None


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


def _plain(value: Any) -> Any:
    """A value ready for JSON: a dataclass as an object."""
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _short(value: Any) -> Any:
    """A value with six digits for each number, None for one that is not finite, which JSON cannot hold."""
    if isinstance(value, dict):
        return {name: _short(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_short(part) for part in value]
    if isinstance(value, float):
        rounded = float(f"{value:.6g}")
        return (int(rounded) if rounded.is_integer() else rounded) if math.isfinite(value) else None
    return value
