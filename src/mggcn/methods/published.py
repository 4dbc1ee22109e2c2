"""Published settings and results, read from ``published.toml`` beside this file, which gives the source of each."""

from functools import cache
from importlib.resources import files
from typing import Any, Literal

import msgspec

MEASURES = ("accuracy", "epoch_seconds", "total_seconds")
"""The quantities of published results."""
OWN = "own"
"""The name of the table of results from the methods' own papers; the others are MG-GCN's."""


class Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The data set that published results refer to: the digest of its arrays, split included."""

    digest: str


Preset = Literal["default", "paper"]
"""Where the settings of a method start: our recipe, or what its paper and its authors' code use."""


class Values(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings that methods use on data sets instead of their defaults; ``*`` stands for all of them.

    ``features`` limits them to data sets with sparse or with dense features.
    """

    methods: list[str]
    values: dict[str, Any]
    source: str
    datasets: tuple[str, ...] = ("*",)
    features: Literal["any", "sparse", "dense"] = "any"
    preset: Preset = "paper"


class Result(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A published result; ``settings`` are those that differ from the method's own on the data set."""

    dataset: str
    method: str
    settings: dict[str, Any] = {}
    accuracy: float | None = None
    epoch_seconds: float | None = None
    total_seconds: float | None = None

    @property
    def measured(self) -> dict[str, float]:
        """The numbers by the quantity they measure."""
        return {name: value for name in MEASURES if (value := getattr(self, name)) is not None}


class PublishedTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a paper."""

    name: str
    source: str
    rows: list[Result]


class Published(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    data: dict[str, Data]
    settings: list[Values]
    tables: list[PublishedTable]


@cache
def published() -> Published:
    """The file ``published.toml``."""
    content = files("mggcn.methods").joinpath("published.toml").read_bytes()
    return msgspec.toml.decode(content, type=Published)


def table(name: str) -> PublishedTable | None:
    """The published table with this name, if any."""
    return next((table for table in published().tables if table.name == name), None)


def recipe(method: str) -> dict[str, dict[str, Any]]:
    """Our recipe for a method, by the kind of features (``any``, ``sparse``, ``dense``); empty if there is none."""
    values: dict[str, dict[str, Any]] = {}
    for entry in published().settings:
        if entry.preset == "default" and method in entry.methods:
            values[entry.features] = values.get(entry.features, {}) | entry.values
    return values


def settings(dataset: str, method: str, preset: Preset, *, sparse: bool | None = None) -> dict[str, Any]:
    """The settings of a method on a data set that replace its defaults; those of every method come first.

    A method without a recipe of ours has its paper's settings in every preset. A variant of a data set such as
    ``cora:public`` has the settings of ``cora``.

    Args:
        dataset: the name of the data set.
        method: the name of the method.
        preset: our recipe or the paper's settings.
        sparse: whether the features are sparse; None if that is not known.
    """
    names = {"*", dataset.partition(":")[0]}
    kinds = {"any"} | ({"sparse" if sparse else "dense"} if sparse is not None else set())
    entries = published().settings
    if not recipe(method):
        preset = "paper"
    values: dict[str, Any] = {}
    for of_methods in ("*", method):
        for entry in entries:
            is_of_data = not names.isdisjoint(entry.datasets) and entry.features in kinds
            if entry.preset == preset and is_of_data and of_methods in entry.methods:
                values |= entry.values
    return values
