"""Published settings and results, read from ``published.toml`` beside this file, which gives the source of each."""

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

MEASURES = ("accuracy", "epoch_seconds", "total_seconds")
"""The quantities of published results."""


class Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The data set that published results refer to: the digest of its arrays, split included."""

    digest: str


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings that methods use on data sets instead of their defaults; ``*`` stands for all of them."""

    datasets: list[str]
    methods: list[str]
    values: dict[str, Any]
    source: str


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
    settings: list[Preset]
    tables: list[PublishedTable]


@cache
def published() -> Published:
    """The file ``published.toml``."""
    content = files("mggcn.methods").joinpath("published.toml").read_bytes()
    return msgspec.toml.decode(content, type=Published)


def table(name: str) -> PublishedTable | None:
    """The published table with this name, if any."""
    return next((table for table in published().tables if table.name == name), None)


def settings(dataset: str, method: str) -> dict[str, Any]:
    """The settings of a method on a data set that replace its defaults; ``*`` for those of every method.

    A variant of a data set such as ``cora:public`` has the settings of ``cora``.
    """
    names = {"*", dataset.partition(":")[0]}
    values: dict[str, Any] = {}
    for preset in published().settings:
        if method in preset.methods and not names.isdisjoint(preset.datasets):
            values |= preset.values
    return values
