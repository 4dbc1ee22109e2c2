"""Published settings and results, read from ``published.toml`` beside this file, which gives the source of each."""

from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from mggcn._io.files import read_toml

MEASURES = ("accuracy", "epoch_seconds", "total_seconds")
"""The quantities of published results."""
MOST_MEMBERS = 4
"""The most recipes of a portfolio."""
OWN = "own"
"""The name of the table of results from the methods' own papers; the others are MG-GCN's."""


Preset = Literal["default", "paper"]
"""Where the settings of a method start: our recipe, or what its paper and its authors' code use."""


class Values(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings that methods use on data sets instead of their defaults; ``*`` stands for all of them.

    In our recipes it stands for the methods that other entries name. ``features`` limits them to data sets whose
    features are mostly 0 (``sparse``) or are not (``dense``).
    """

    methods: list[str]
    values: dict[str, Any]
    source: str
    datasets: tuple[str, ...] = ("*",)
    features: Literal["any", "sparse", "dense"] = "any"
    preset: Preset = "paper"

    def holds(self, is_sparse: bool | None) -> bool:
        """Whether a data set has them whose features are mostly 0, or are not, or that is not known yet."""
        known = () if is_sparse is None else ("sparse" if is_sparse else "dense",)
        return self.features in ("any", *known)


class Portfolio(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Recipes that are trained one after the other: settings in which each differs from our recipe for the method."""

    methods: list[str]
    members: Annotated[list[dict[str, Any]], Meta(min_length=1, max_length=MOST_MEMBERS)]
    source: str


class PublishedResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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
    rows: list[PublishedResult]


class Published(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file; ``data`` has the digests, split included, of the data sets that results refer to."""

    data: dict[str, str]
    settings: list[Values]
    portfolio: list[Portfolio]
    tables: list[PublishedTable]


@cache
def published() -> Published:
    """The file ``published.toml``."""
    return read_toml(Path(__file__).with_name("published.toml"), Published)


def table(name: str) -> PublishedTable | None:
    """The published table with this name, if any."""
    return next((table for table in published().tables if table.name == name), None)


def recipe(method: str) -> dict[str, dict[str, Any]]:
    """Our recipe for a method, by the features for which it holds, in words; empty if there is none."""
    entries = [entry for entry in published().settings if entry.preset == "default"]
    values: dict[str, dict[str, Any]] = {}
    for entry in entries if any(method in entry.methods for entry in entries) else ():
        if not {"*", method}.isdisjoint(entry.methods):
            where = f"{entry.features} features"
            values[where] = values.get(where, {}) | entry.values
    return values


def portfolio(method: str) -> list[dict[str, Any]]:
    """What each recipe of a method's portfolio changes; empty if the method has none."""
    return next((entry.members for entry in published().portfolio if method in entry.methods), [])


def settings(dataset: str, method: str, preset: Preset, *, is_sparse: bool | None = None) -> dict[str, Any]:
    """The settings of a method on a data set that replace its defaults; those of every method come first.

    A method without a recipe of ours has its paper's settings in every preset. A variant of a data set such as
    ``cora:public`` has the settings of ``cora``. ``is_sparse`` says whether its features are mostly 0; None if unknown.
    """
    names = {"*", dataset.partition(":")[0]}
    entries = published().settings
    if not recipe(method):
        preset = "paper"
    values: dict[str, Any] = {}
    for of_methods in ("*", method):
        for entry in entries:
            is_of_data = not names.isdisjoint(entry.datasets) and entry.holds(is_sparse)
            if entry.preset == preset and is_of_data and of_methods in entry.methods:
                values |= entry.values
    return values
