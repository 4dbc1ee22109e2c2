"""Experiment: data sets, variants of methods and seeds; comparisons and ablations are experiments on one data set."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

import msgspec
import torch

from mggcn import data as datasets
from mggcn import methods
from mggcn._io.mapping import AUTOMATIC, Access
from mggcn.data import Dataset, data_roots, is_dataset
from mggcn.errors import InputError, prefix_errors, unknown
from mggcn.experiments._rows import ExperimentInfo
from mggcn.methods import Method, Preset
from mggcn.methods.settings import convert, divide, is_import_path
from mggcn.runs import DataIdentity, Plan, resolve
from mggcn.training import Training

RUNS = Path("experiments-runs")
_CPU = torch.device("cpu")


@dataclass(frozen=True)
class Variant:
    """A row of the tables: a method with settings.

    Attributes:
        label: its name in tables.
        method: a name from :data:`mggcn.methods.METHODS`, an import path, a class or an object.
        settings: what makes it a variant of that method.
        on: further settings on single data sets.
        grows: how the number of nodes of a batch grows according to the paper, such as ``O(b d^L)``.
    """

    label: str
    method: str | Method | type[Method]
    settings: Mapping[str, object] = field(default_factory=dict)
    on: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    grows: str = ""

    @property
    def method_class(self) -> type[Method]:
        """The class of the method."""
        return type(self.method) if isinstance(self.method, Method) else methods.method_class(self.method)

    @property
    def setting_names(self) -> set[str]:
        """The settings of the method and of training."""
        return {field.name for kind in (self.method_class, Training) for field in fields(kind)}


class Reference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Published results of other data or other settings, shown in a column of their own.

    Attributes:
        table: the name of a table in ``methods/published.toml``.
        heading: says what the results are, such as ``paper, full batches``.
        datasets: for data sets of the experiment, the name in the table; all data sets under their own names if None.
    """

    table: str
    heading: str
    datasets: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Experiment:
    """Runs of several variants on several data sets, one table for each data set.

    Attributes:
        name: the name of the folder of its results.
        datasets: known names, folders, or names in ``folders``.
        variants: the rows of every table.
        seeds: the number of runs of each variant, with seeds from 0.
        title: one line.
        reproduces: the part of the paper that it reproduces.
        settings: changes for every method that has such a setting.
        preset: where the methods' settings start, see :func:`mggcn.runs.resolve`.
        measure: what it measures: ``accuracy``, ``epoch_seconds`` or ``total_seconds``.
        alone: whether runs must not share the machine.
        reference: published results to show in a column of their own.
        folders: for each data set that the user has to make: how.
        path: the file it was read from.
        flat: whether there is one data set, whose table is written beside the records.
        splits: the number of random splits of the data, each with all seeds; 0 uses the split of the data set.
    """

    name: str
    datasets: tuple[str, ...]
    variants: tuple[Variant, ...]
    seeds: int = 3
    title: str = ""
    reproduces: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    preset: Preset = "default"
    measure: str = "accuracy"
    alone: bool = False
    reference: Reference | None = None
    folders: Mapping[str, str] = field(default_factory=dict)
    path: Path | None = None
    flat: bool = False
    splits: int = 0

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise InputError(f"seeds: {self.seeds} is less than 1")
        if self.splits < 0:
            raise InputError(f"splits: {self.splits} is less than 0")
        for what, names in (("datasets", self.datasets), ("variant", [variant.label for variant in self.variants])):
            if not names:
                raise InputError(f"{what}: there is none")
            for name in names:
                if names.count(name) > 1:
                    raise InputError(f"{what}: {name!r} is there twice")

    @property
    def num_runs(self) -> int:
        """The number of runs on all data sets."""
        return len(self.datasets) * len(self.variants) * self.runs_per_row

    @property
    def runs_per_row(self) -> int:
        """The number of runs of each variant on a data set."""
        return self.seeds * max(1, self.splits)

    @property
    def info(self) -> ExperimentInfo | None:
        """What tables and reports show; None for a comparison on one data set."""
        if self.flat:
            return None
        heading = self.reference.heading if self.reference else ""
        return ExperimentInfo(self.name, self.title, self.reproduces, self.measure, self.seeds, heading)

    @property
    def folder(self) -> Path:
        """Where its results are written unless the caller names a folder."""
        return Path(self.name) / folder_name(self.datasets[0]) if self.flat else RUNS / self.name

    @property
    def about(self) -> str:
        """The lines above its tables."""
        sentences = [self.title, f"Of the paper: {self.reproduces}" * bool(self.reproduces)]
        lines = [" ".join(f"{sentence}." for sentence in sentences if sentence)]
        if self.settings:
            lines.append("Settings changed:" + "".join(f" {name}={value}" for name, value in self.settings.items()))
        return "\n".join(line for line in lines if line)

    def selected(self, only: str | None) -> dict[str, set[str]]:
        """The labels to run by data set: those where ``only`` is part of the label or of the data set's name."""
        part = (only or "").lower()
        labels = [variant.label for variant in self.variants]
        selected = {
            dataset: {label for label in labels if part in dataset.lower() or part in label.lower()}
            for dataset in self.datasets
        }
        if not any(selected.values()):
            raise InputError(f"only: {only!r} is in no data set and no label of {self.path or self.name}")
        return {dataset: labels for dataset, labels in selected.items() if labels}

    def check(self) -> None:
        """Raise InputError for a wrong name or value of a setting, before any data are loaded."""
        for setting in self.settings:
            if not any(setting in variant.setting_names for variant in self.variants):
                raise unknown("setting", setting, set().union(*(each.setting_names for each in self.variants)))
        for variant in self.variants:
            for dataset in self.datasets:
                with prefix_errors(variant.label):
                    kinds: tuple[type, type] = (variant.method_class, Training)
                    values = divide(self._overrides(variant, dataset), *kinds)
                    for kind, of_kind in zip(kinds, values, strict=True):
                        convert(kind, of_kind)

    def plans(self, data: DataIdentity | str, dataset: str | None = None, device: torch.device = _CPU) -> list[Plan]:
        """Each variant with every setting, which the identity of the data decides if it is known.

        Args:
            data: the identity, or only the name.
            dataset: its name in the experiment, if that is another one.
            device: of the runs.
        """
        self.check()
        known = DataIdentity(data) if isinstance(data, str) else data
        plans = []
        for variant in self.variants:
            with prefix_errors(variant.label):
                overrides = self._overrides(variant, dataset or known.name)
                plans.append(resolve(variant.method, known, overrides, preset=self.preset, device=device))
        return plans

    def _overrides(self, variant: Variant, dataset: str) -> dict[str, object]:
        shared = {key: value for key, value in self.settings.items() if key in variant.setting_names}
        return {**shared, **variant.settings, **variant.on.get(dataset, {})}

    def missing(self, root: Path | None) -> list[str]:
        """The data sets that the user still has to make."""
        return [name for name in self.folders if _folder(name, root) is None]

    def load(self, dataset: str, root: Path | None = None, access: Access = AUTOMATIC) -> Dataset:
        """Load one of the data sets; ``root`` is also searched for folders that the user made."""
        if dataset not in self.folders:
            return datasets.load_with(access, dataset, root=root)
        folder = _folder(dataset, root)
        if folder is None:
            raise InputError(f"{self.folders[dataset]}; there is no folder {data_roots(root)[0] / dataset}")
        return datasets.load_with(access, folder)


ABLATIONS = tuple(
    Variant(label, "mg-gcn", settings)
    for label, settings in (
        ("as in the paper", {}),
        ("first layer coarse, not fine", {"fine": False}),
        ("uniform picks", {"pick_by": "uniform"}),
        ("no skip", {"skip": False}),
        ("breadth only", {"explore": "breadth"}),
        ("depth only", {"explore": "depth"}),
        ("picks drawn once", {"redraw": "once"}),
    )
)
"""MG-GCN as in the paper, and with one part changed at a time."""


def comparison(
    dataset: str,
    methods: Sequence[str] = ("all",),
    *,
    seeds: int = 3,
    splits: int = 0,
    settings: Mapping[str, object] | None = None,
    preset: Preset = "default",
) -> Experiment:
    """Compare methods on a data set.

    Args:
        dataset: a known name or a dataset folder.
        methods: names or import paths; ``all`` stands for every method.
        seeds: the number of runs of each method, on each split.
        splits: the number of random splits, for data without a published one; 0 uses the split of the data set.
        settings: changes for every method that has such a setting.
        preset: where the methods' settings start, see :func:`mggcn.runs.resolve`.
    """
    variants = variants_of(methods)
    if not variants:
        raise InputError("methods: there is none")
    changes = settings or {}
    return Experiment("compare", (dataset,), variants, seeds, settings=changes, preset=preset, flat=True, splits=splits)


def ablation(dataset: str, *, seeds: int = 3, settings: Mapping[str, object] | None = None) -> Experiment:
    """Compare MG-GCN with its variants in :data:`ABLATIONS` on a data set.

    Args:
        dataset: a known name or a dataset folder.
        seeds: the number of runs of each variant.
        settings: changes for all variants.
    """
    return Experiment("ablate", (dataset,), ABLATIONS, seeds, settings=settings or {}, preset="paper", flat=True)


def variants_of(names: Iterable[str]) -> tuple[Variant, ...]:
    """Methods with their default settings, in the order of their names; ``all`` stands for every method."""
    variants: dict[str, Variant] = {}
    for name in names:
        if name != "all" and name not in methods.METHODS and not is_import_path(name):
            raise unknown("method", name, [*methods.METHODS, "all"])
        for each in methods.METHODS if name == "all" else [name]:
            variants.setdefault(each, Variant(each.rpartition(":")[2], each))
    return tuple(variants.values())


def folder_name(dataset: str) -> str:
    """The name of the folder of a data set's results, from a known name or a path."""
    return Path(os.path.normpath(Path(dataset).absolute())).name.replace(":", "-")


def _folder(name: str, root: Path | None) -> Path | None:
    return next((folder / name for folder in data_roots(root) if is_dataset(folder / name)), None)
