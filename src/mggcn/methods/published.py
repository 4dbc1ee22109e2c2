"""Published settings and results, read from ``published.toml`` beside this file, which gives the source of each."""

from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from mggcn._io.files import read_toml
from mggcn.data import Dataset

MEASURES = ("accuracy", "epoch_seconds", "total_seconds")
"""The quantities of published results."""
MOST_MEMBERS = 4
"""The most recipes of a portfolio."""
OWN = "own"
"""The name of the table of results from the methods' own papers; the others are MG-GCN's."""


Preset = Literal["default", "paper"]
"""Where the settings of a method start: our recipe, or what its paper and its authors' code use."""


class Traits(msgspec.Struct, frozen=True):
    """What our recipes may depend on: the number of nodes, their mean degree, and whether most features are 0."""

    nodes: int
    degree: float
    sparse: bool

    @classmethod
    def of(cls, dataset: Dataset) -> "Traits":
        """The traits of a data set."""
        return cls(dataset.num_nodes, dataset.graph.num_stored / dataset.num_nodes, dataset.is_sparse)


class Values(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings that methods use on data sets instead of their defaults; ``*`` stands for all of them.

    In our recipes it stands for the methods that other entries name. ``features`` limits them to data sets whose
    features are mostly 0 (``sparse``) or are not (``dense``), ``least_nodes`` and ``most_nodes`` to those with such
    numbers of nodes, and ``least_degree`` to those whose nodes have on average at least that many neighbours.
    """

    methods: list[str]
    values: dict[str, Any]
    source: str
    datasets: tuple[str, ...] = ("*",)
    features: Literal["any", "sparse", "dense"] = "any"
    least_nodes: int = 0
    most_nodes: int | None = None
    least_degree: float = 0.0
    preset: Preset = "paper"

    @property
    def condition(self) -> str:
        """The traits of the data sets that have them, in words."""
        least = f", at least {self.least_nodes:,} nodes" if self.least_nodes else ""
        most = f", at most {self.most_nodes:,} nodes" if self.most_nodes is not None else ""
        degree = f", a mean degree of at least {self.least_degree:g}" if self.least_degree else ""
        return f"{self.features} features{least}{most}{degree}"

    def holds(self, traits: Traits | None) -> bool:
        """Whether a data set with these traits has them; of unknown traits only what any data set has."""
        if traits is None:
            return (self.features, self.least_nodes, self.most_nodes, self.least_degree) == ("any", 0, None, 0.0)
        return (
            self.features in ("any", "sparse" if traits.sparse else "dense")
            and self.least_nodes <= traits.nodes
            and (self.most_nodes is None or traits.nodes <= self.most_nodes)
            and self.least_degree <= traits.degree
        )


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
    """Our recipe for a method, by the data sets for which it holds (in words); empty if there is none."""
    entries = [entry for entry in published().settings if entry.preset == "default"]
    values: dict[str, dict[str, Any]] = {}
    for entry in entries if any(method in entry.methods for entry in entries) else ():
        if not {"*", method}.isdisjoint(entry.methods):
            values[entry.condition] = values.get(entry.condition, {}) | entry.values
    return values


def portfolio(method: str) -> list[dict[str, Any]]:
    """What each recipe of a method's portfolio changes; empty if the method has none."""
    return next((entry.members for entry in published().portfolio if method in entry.methods), [])


def settings(dataset: str, method: str, preset: Preset, traits: Traits | None = None) -> dict[str, Any]:
    """The settings of a method on a data set that replace its defaults; those of every method come first.

    A method without a recipe of ours has its paper's settings in every preset. A variant of a data set such as
    ``cora:public`` has the settings of ``cora``. ``traits`` is None if they are not known.
    """
    names = {"*", dataset.partition(":")[0]}
    entries = published().settings
    if not recipe(method):
        preset = "paper"
    values: dict[str, Any] = {}
    for of_methods in ("*", method):
        for entry in entries:
            is_of_data = not names.isdisjoint(entry.datasets) and entry.holds(traits)
            if entry.preset == preset and is_of_data and of_methods in entry.methods:
                values |= entry.values
    return values
