"""Reading an experiment from its TOML file.

The file has ``name``, ``title``, ``reproduces`` (what of the paper it is), ``datasets``, ``seeds``, and a
``[[variant]]`` for each line of its tables: ``label``, ``method``, optional ``settings``, optional ``on.DATASET``,
settings for one data set only, and optional ``grows``, how the nodes of a batch grow according to the paper. It may
have ``settings`` for all variants; the paper's numbers as ``[paper.DATASET]`` by label, each a number or a table by
what is measured; what plain numbers ``measure``; ``alone`` where runs must not share the machine; and ``[folders]``:
data sets that the user has to make, and how.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mggcn import datasets, methods
from mggcn.errors import InputError, unknown
from mggcn.experiments import schedule
from mggcn.experiments.definition import MEASURES, Experiment, Line
from mggcn.experiments.schedule import Variant
from mggcn.files import read_toml
from mggcn.records.sheet import GROWTH

_FIELDS: dict[str, type] = {
    "name": str,
    "title": str,
    "reproduces": str,
    "datasets": list,
    "seeds": int,
    "variant": list,
    "measure": str,
    "alone": bool,
    "settings": dict,
    "paper": dict,
    "folders": dict,
}
_REQUIRED = ("name", "title", "reproduces", "datasets", "seeds", "variant")
_OF_VARIANT: dict[str, type] = {"label": str, "method": str, "settings": dict, "on": dict, "grows": str}
_TYPES = {str: "text", list: "a list", int: "a whole number", bool: "true or false", dict: "a table"}


def read(path: Path) -> Experiment:
    """Read and check an experiment; every variant must resolve on every data set."""
    table = read_toml(path, dict[str, Any])
    try:
        found = _experiment(path, table)
        for dataset in found.datasets:
            schedule.resolve(found.variants(dataset), dataset, found.settings)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return found


def read_folder(folder: Path) -> list[Experiment]:
    """The experiments of a folder, by the names of their files."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    return [read(path) for path in sorted(folder.glob("*.toml"))]


def _experiment(path: Path, table: dict[str, Any]) -> Experiment:
    _check(table, _FIELDS, _REQUIRED, "")
    name, seeds, measure = table["name"], table["seeds"], table.get("measure", "accuracy")
    if name in ("", "..") or Path(name).name != name:
        raise InputError(f"name: {name!r} cannot be the name of a folder")
    if seeds < 1:
        raise InputError(f"seeds: {seeds} is less than 1")
    if measure not in MEASURES:
        raise InputError(f"measure: {measure!r} is not one of {', '.join(MEASURES)}")
    folders = table.get("folders", {})
    for dataset, how in folders.items():
        if not isinstance(how, str) or not how.isprintable():
            raise InputError(f"folders.{dataset}: {how!r} is not a line of text")
    names = _datasets(table["datasets"], folders)
    lines = [_line(number, given, names) for number, given in enumerate(table["variant"], 1)]
    labels = [line.variant.label for line in lines]
    if not lines:
        raise InputError("variant: there is none")
    for label in labels:
        if labels.count(label) > 1:
            raise InputError(f"variant: label {label!r} is there twice")
    return Experiment(
        path,
        name,
        table["title"],
        table["reproduces"],
        names,
        tuple(lines),
        seeds,
        table.get("settings", {}),
        measure,
        table.get("alone", False),
        _paper(table.get("paper", {}), names, labels, measure),
        folders,
    )


def _datasets(given: list[Any], folders: Mapping[str, str]) -> tuple[str, ...]:
    known = datasets.names()
    kinds = {name.partition(":")[0] for name in known if name.partition(":")[2].isupper()}
    for name in given:
        if not isinstance(name, str) or not name or not name.isprintable():
            raise InputError(f"datasets: {name!r} is not a name")
        kind, _, argument = name.partition(":")
        if not (name in known or name in folders or (argument and kind in kinds) or Path(name).is_dir()):
            raise InputError(f"datasets: {unknown('data set', name, [*known, *folders])}")
        if given.count(name) > 1:
            raise InputError(f"datasets: {name!r} is there twice")
    if not given:
        raise InputError("datasets: there is none")
    return tuple(given)


def _line(number: int, given: object, names: tuple[str, ...]) -> Line:
    if not isinstance(given, dict):
        raise InputError(f"variant {number}: {given!r} is not a table")
    _check(given, _OF_VARIANT, ("label", "method"), f"variant {number}: ")
    label, method, on = given["label"], given["method"], given.get("on", {})
    if method not in methods.METHODS:
        raise InputError(f"variant {label!r}: {unknown('method', method, methods.METHODS)}")
    for dataset, changes in on.items():
        if dataset not in names:
            raise InputError(f"variant {label!r}: on: {unknown('data set', dataset, names)}")
        if not isinstance(changes, dict):
            raise InputError(f"variant {label!r}: on.{dataset}: {changes!r} is not a table")
    grows = given.get("grows", "")
    if grows and not GROWTH.fullmatch(grows):
        raise InputError(f"variant {label!r}: grows: {grows!r} is not an order of growth such as 'O(b d^L)'")
    return Line(Variant(label, method, given.get("settings", {})), on, grows)


def _paper(
    given: dict[str, Any], names: tuple[str, ...], labels: list[str], measure: str
) -> dict[str, dict[str, dict[str, float]]]:
    """The paper's numbers, where a plain one is of what the experiment measures."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for dataset, lines in given.items():
        if dataset not in names:
            raise InputError(f"paper: {unknown('data set', dataset, names)}")
        if not isinstance(lines, dict):
            raise InputError(f"paper.{dataset}: {lines!r} is not a table")
        for label, numbers in lines.items():
            if label not in labels:
                raise InputError(f"paper.{dataset}: {unknown('label', label, labels)}")
            where = f"paper.{dataset}.{label}"
            table = numbers if isinstance(numbers, dict) else {measure: numbers}
            for name, number in table.items():
                _check_number(f"{where}.{name}" if table is numbers else where, name, number)
            found.setdefault(dataset, {})[label] = table
    return found


def _check_number(where: str, measure: str, number: object) -> None:
    if measure not in MEASURES:
        raise InputError(f"{where}: {unknown('measure', measure, MEASURES)}")
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < math.inf:
        raise InputError(f"{where}: {number!r} is not a positive number")
    if measure == "accuracy" and number > 1:
        raise InputError(f"{where}: {number!r} is not an accuracy between 0 and 1")


def _check(table: Mapping[str, object], valid: Mapping[str, type], required: tuple[str, ...], where: str) -> None:
    """Refuse fields that are unknown, missing, of another type, or text that no table has room for."""
    for name, value in table.items():
        if name not in valid:
            raise InputError(f"{where}{unknown('field', name, valid)}")
        if type(value) is not valid[name]:
            raise InputError(f"{where}{name}: {value!r} is not {_TYPES[valid[name]]}")
        if isinstance(value, str) and not value.isprintable():
            raise InputError(f"{where}{name}: {value!r} is not one line of letters that can be printed")
    for name in required:
        if name not in table:
            raise InputError(f"{where}field {name} is missing")
