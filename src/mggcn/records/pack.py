"""Packed records: the runs of a report in one small JSON file that can be committed and read again.

What runs share is written once: data sets and environments in lists that lines point into, method, settings, device,
and what an experiment says, once for each line. A line has a list over its seeds for each figure, and the curve of its
first seed alone, thinned, as a list for each column; times of epochs left out are added to those of the next one kept.
Numbers have six digits. Absolute paths are left out, as they are of one machine.
"""

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields, replace
from pathlib import PurePath
from typing import Any

from mggcn.records.lines import Line, Section, Source
from mggcn.records.record import MAY_DIVERGE, Epoch, RunRecord, spaced
from mggcn.records.sheet import DataTable, Entry, Sheet, checked

FORMAT, VERSION = "mggcn-records", 1
_MOST_POINTS = 100
_OF_SHEET = ("name", "title", "reproduces", "measure", "seeds")
_SHARED = ("dataset", "method", "settings", "device", "curve", "environment")
_PER_SEED = [one.name for one in fields(RunRecord) if one.name not in _SHARED]
_DEFAULTS = {one.name: one.default for one in fields(RunRecord)}
_ADDED_UP = ("train_seconds", "eval_seconds")


def packed(found: Sequence[Section]) -> str:
    """The runs of sections, a line of text for each line of their tables."""
    datasets: list[dict[str, Any]] = []
    environments: list[dict[str, Any]] = []
    parts = []
    for section in found:
        lines = [_line(line, datasets, environments) for line in section.lines]
        sheet = section.sheet
        said = {name: getattr(sheet, name) for name in _OF_SHEET} if sheet else None
        parts.append(_object({"experiment": said, "dataset": section.dataset}, lines=map(_json, lines)))
    shared = {"datasets": map(_json, datasets), "environments": map(_json, environments)}
    return _object({"format": FORMAT, "version": VERSION}, **shared, sections=parts) + "\n"


def is_packed(given: object) -> bool:
    """Whether parsed JSON is what :func:`packed` wrote, of any version."""
    return isinstance(given, dict) and given.get("format") == FORMAT


def unpacked(given: dict[str, Any]) -> Iterator[Source]:
    """The runs that :func:`packed` wrote; raises ValueError, TypeError, KeyError or IndexError for something else."""
    if given["version"] != VERSION:
        raise ValueError(f"version {given['version']!r}, not {VERSION}")
    for part in given["sections"]:
        specs: dict[str, RunRecord] = {}
        entries: dict[str, Entry] = {}
        for number, line in enumerate(part["lines"]):
            records = {f"{number}.{record.seed}": record for record in _records(line, given)}
            specs |= records
            if part["experiment"] is not None:
                entry = _entry(line, tuple(records))
                before = entries.get(entry.label)
                entries[entry.label] = _joined(before, entry) if before else entry
        if part["experiment"] is None:
            yield Source(specs)
        else:
            table = checked(DataTable, {"dataset": part["dataset"], "entries": [*entries.values()]})
            yield Source(specs, checked(Sheet, part["experiment"] | {"tables": [table]}))


def _object(own: dict[str, Any], **lists: Iterable[str]) -> str:
    """An object as JSON, with lists whose items, JSON already, have lines of their own."""
    items = [f'"{name}":[\n' + ",\n".join(texts) + "\n]" for name, texts in lists.items()]
    return "{" + ",".join([_json(own)[1:-1], *items]) + "}"


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _line(line: Line, datasets: list[dict[str, Any]], environments: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if line.entry:
        said = asdict(line.entry)
        found = {name: said[name] for name in ("label", "method", "paper", "grows", "reasons") if said[name]}
    if line.records:
        first = line.records[0]
        found |= {"dataset": _number(_shareable(first.dataset), datasets), "method": first.method}
        found |= {"device": first.device, "settings": first.settings}
        found["environments"] = [_number(record.environment, environments) for record in line.records]
        runs = [{name: getattr(record, name) for name in _PER_SEED} for record in line.records]
        found["runs"] = _columns(runs, _DEFAULTS)
        found["curve"] = _columns([asdict(epoch) for epoch in _thinned(first.curve)], {})
    return found


def _records(line: dict[str, Any], given: dict[str, Any]) -> Iterator[RunRecord]:
    if "runs" not in line:
        return
    curve = list(_rows(line["curve"]))
    for number, (environment, values) in enumerate(zip(line["environments"], _rows(line["runs"]), strict=True)):
        shared = {name: line[name] for name in ("method", "settings", "device")}
        of_data, of_machine = given["datasets"][line["dataset"]], given["environments"][environment]
        own = {"dataset": of_data, "environment": of_machine, "curve": [] if number else curve}
        yield RunRecord.of(values | shared | own)


def _columns(rows: Sequence[dict[str, Any]], defaults: dict[str, Any]) -> dict[str, list[Any]]:
    """A list for each field, but for those that have nothing except their default."""
    names = [name for name in (rows[0] if rows else ()) if any(row[name] != defaults.get(name, row) for row in rows)]
    return {name: [_short(row[name]) for row in rows] for name in names}


def _rows(columns: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """What :func:`_columns` made into lists, with the losses back that JSON has no word for."""
    for values in zip(*columns.values(), strict=True):
        row = dict(zip(columns, values, strict=True))
        yield row | {name: math.nan for name in MAY_DIVERGE if name in row and row[name] is None}


def _entry(line: dict[str, Any], specs: tuple[str, ...]) -> Entry:
    said = {name: line[name] for name in ("label", "method", "paper", "grows", "reasons") if name in line}
    return checked(Entry, said | {"specs": specs})


def _joined(one: Entry, other: Entry) -> Entry:
    """The same line on two devices."""
    return replace(one, specs=one.specs + other.specs)


def _shareable(dataset: dict[str, Any]) -> dict[str, Any]:
    path = dataset.get("path")
    return {**dataset, "path": None} if path and PurePath(path).is_absolute() else dataset


def _number(value: dict[str, Any], known: list[dict[str, Any]]) -> int:
    """Where a value stands in a list, which it is added to at need."""
    if value not in known:
        known.append(value)
    return known.index(value)


def _thinned(curve: Sequence[Epoch]) -> list[Epoch]:
    found = []
    for before, number in itertools.pairwise([-1, *spaced(len(curve), _MOST_POINTS)]):
        since = curve[before + 1 : number + 1]
        times = {name: sum(getattr(epoch, name) for epoch in since) for name in _ADDED_UP}
        found.append(replace(curve[number], **times))
    return found


def _short(value: Any) -> Any:
    """A number with six digits; one that is not finite, which JSON has no word for, becomes nothing."""
    if isinstance(value, float):
        rounded = float(f"{value:.6g}")
        return (int(rounded) if rounded.is_integer() else rounded) if math.isfinite(value) else None
    return value
