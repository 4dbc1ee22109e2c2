"""Experiments as data: a TOML file that names data sets, variants of methods and seeds, and the paper's numbers.

The file has ``name``, ``title``, ``reproduces`` (what of the paper it is), ``datasets``, ``seeds``, and a
``[[variant]]`` for each line of its tables: ``label``, ``method``, optional ``settings``, and optional ``on.DATASET``,
settings for one data set only. It may have ``settings`` for all variants, the paper's numbers as ``[paper.DATASET]`` by
label, what they ``measure``, ``alone`` where runs must not share the machine, and ``[folders]``: data sets that the
user has to make, and how.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mggcn import compare, datasets, methods, spec, storage
from mggcn.compare import Job, Outcome, Variant
from mggcn.dataset import Dataset
from mggcn.datasets.root import places
from mggcn.errors import InputError, unknown
from mggcn.summary import Summary

MEASURES = {"accuracy": "accuracy", "epoch_seconds": "seconds an epoch"}

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
_OF_VARIANT: dict[str, type] = {"label": str, "method": str, "settings": dict, "on": dict}
_TYPES = {str: "text", list: "a list", int: "a whole number", bool: "true or false", dict: "a table"}


@dataclass(frozen=True)
class Line:
    """A variant, and what it changes on single data sets."""

    variant: Variant
    on: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """Runs whose tables stand beside some of the paper's.

    Attributes:
        path: the file.
        name: of the folder of its results.
        title: a line for people.
        reproduces: what of the paper it is.
        datasets: known names, or those in ``folders``.
        lines: of every table.
        seeds: so many, from 0.
        settings: changes for every method that has them.
        measure: what the paper's numbers are, a key of :data:`MEASURES`.
        alone: whether runs must not share the machine.
        paper: numbers by data set and label.
        folders: for each data set that the user has to make: how.
    """

    path: Path
    name: str
    title: str
    reproduces: str
    datasets: tuple[str, ...]
    lines: tuple[Line, ...]
    seeds: int
    settings: Mapping[str, object] = field(default_factory=dict)
    measure: str = "accuracy"
    alone: bool = False
    paper: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)

    @property
    def num_runs(self) -> int:
        """Of all data sets, variants and seeds."""
        return len(self.datasets) * len(self.lines) * self.seeds

    def variants(self, dataset: str) -> list[Variant]:
        """The lines of a data set's table."""
        return [
            replace(line.variant, settings={**line.variant.settings, **line.on.get(dataset, {})}) for line in self.lines
        ]

    def selected(self, only: str | None) -> dict[str, set[str]]:
        """The labels to run by data set: those where ``only`` is part of one name or the other, or all."""
        part = (only or "").lower()
        labels = [line.variant.label for line in self.lines]
        found = {
            dataset: {label for label in labels if part in dataset.lower() or part in label.lower()}
            for dataset in self.datasets
        }
        kept = {dataset: chosen for dataset, chosen in found.items() if chosen}
        if not kept:
            raise InputError(f"--only: {only!r} is in no data set and no label of {self.path}")
        return kept

    def missing(self, root: Path | None) -> list[str]:
        """The data sets that the user has yet to make."""
        return [name for name in self.folders if self._folder(name, root) is None]

    def load(self, dataset: str, root: Path | None) -> Dataset:
        """One of the data sets.

        Args:
            dataset: its name.
            root: the data root, where also the user's own folders are looked for.
        """
        if dataset not in self.folders:
            return datasets.load(dataset, root=root)
        folder = self._folder(dataset, root)
        if folder is None:
            tried = places(root)[0] / dataset
            raise InputError(f"{self.path}: data set {dataset}: no folder {tried}; {self.folders[dataset]}")
        return storage.load(folder)

    def plan(self, dataset: str, identity: Mapping[str, Any], device: str) -> list[Job]:
        """The runs on a data set, as :func:`mggcn.compare.plan` orders them.

        Args:
            dataset: its name in the file.
            identity: see :func:`mggcn.spec.identity`.
            device: ``cpu`` or ``cuda``.
        """
        variants = self.variants(dataset)
        return compare.plan_of(identity, variants, range(self.seeds), device=device, common=self.settings)

    def summarise(self, dataset: str, data: Dataset, outcomes: list[Outcome], device: str) -> list[Summary]:
        """The rows of a data set's table, the paper's accuracies of the file beside ours."""
        published = self.paper.get(dataset, {}) if self.measure == "accuracy" else {}
        rows = compare.summarise(data, self.variants(dataset), outcomes, self.seeds, device)
        return [replace(row, published=published.get(row.label)) for row in rows]

    def about(self, dataset: str) -> str:
        """What stands over a data set's table."""
        lines = [f"{self.title}. Of the paper: {self.reproduces}."]
        numbers = self.paper.get(dataset, {})
        if numbers and self.measure != "accuracy":
            told = ", ".join(f"{label} {number:g}" for label, number in numbers.items())
            lines.append(f"The paper's {MEASURES[self.measure]}: {told}.")
        if self.settings:
            lines.append("Settings changed:" + "".join(f" {name}={value}" for name, value in self.settings.items()))
        return "\n".join(lines)

    def _folder(self, name: str, root: Path | None) -> Path | None:
        return next((place / name for place in places(root) if storage.is_dataset(place / name)), None)


def read(path: Path) -> Experiment:
    """Read and check an experiment; every variant must resolve on every data set."""
    try:
        table = tomllib.loads(path.read_text())
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid TOML ({error})") from None
    try:
        found = _experiment(path, table)
        for dataset in found.datasets:
            compare.resolve(found.variants(dataset), dataset, found.settings)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return found


def read_folder(folder: Path) -> list[Experiment]:
    """The experiments of a folder, by the names of their files."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    return [read(path) for path in sorted(folder.glob("*.toml"))]


def note_identity(path: Path, dataset: Dataset) -> dict[str, Any]:
    """The identity of a data set, which is also written to a file for those who want to count runs without it."""
    identity = spec.identity(dataset)
    storage.write_atomically(path, (json.dumps(identity, indent=2) + "\n").encode())
    return identity


def noted_identity(path: Path) -> dict[str, Any] | None:
    """What :func:`note_identity` wrote, None where it has not."""
    if not path.exists():
        return None
    try:
        identity = json.loads(path.read_text())
        if isinstance(identity, dict) and isinstance(identity.get("name"), str):
            return identity
    except ValueError:
        pass
    raise InputError(f"{path}: not the identity of a data set")


def _experiment(path: Path, table: dict[str, Any]) -> Experiment:
    _check(table, _FIELDS, _REQUIRED, "")
    name, seeds, measure = table["name"], table["seeds"], table.get("measure", "accuracy")
    if not name or Path(name).name != name:
        raise InputError(f"name: {name!r} cannot be the name of a folder")
    if seeds < 1:
        raise InputError(f"seeds: {seeds} is less than 1")
    if measure not in MEASURES:
        raise InputError(f"measure: {measure!r} is not one of {', '.join(MEASURES)}")
    folders = table.get("folders", {})
    for dataset, how in folders.items():
        if not isinstance(how, str):
            raise InputError(f"folders.{dataset}: {how!r} is not text")
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
        if not isinstance(name, str):
            raise InputError(f"datasets: {name!r} is not text")
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
    return Line(Variant(label, method, given.get("settings", {})), on)


def _paper(given: dict[str, Any], names: tuple[str, ...], labels: list[str], measure: str) -> dict[str, Any]:
    for dataset, numbers in given.items():
        if dataset not in names:
            raise InputError(f"paper: {unknown('data set', dataset, names)}")
        if not isinstance(numbers, dict):
            raise InputError(f"paper.{dataset}: {numbers!r} is not a table")
        for label, number in numbers.items():
            if label not in labels:
                raise InputError(f"paper.{dataset}: {unknown('label', label, labels)}")
            if isinstance(number, bool) or not isinstance(number, int | float) or not number > 0:
                raise InputError(f"paper.{dataset}.{label}: {number!r} is not a positive number")
            if measure == "accuracy" and number > 1:
                raise InputError(f"paper.{dataset}.{label}: {number!r} is not an accuracy between 0 and 1")
    return given


def _check(table: Mapping[str, object], valid: Mapping[str, type], required: tuple[str, ...], where: str) -> None:
    """Refuse fields that are unknown, missing or of another type."""
    for name, value in table.items():
        if name not in valid:
            raise InputError(f"{where}{unknown('field', name, valid)}")
        if type(value) is not valid[name]:
            raise InputError(f"{where}{name}: {value!r} is not {_TYPES[valid[name]]}")
    for name in required:
        if name not in table:
            raise InputError(f"{where}field {name} is missing")
