"""Experiment: data sets, variants of methods and seeds, from Python or from its TOML file.

Comparisons and ablations are experiments on one data set.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from mggcn import data as datasets
from mggcn import methods
from mggcn._io.files import read_toml
from mggcn._io.mapping import AUTOMATIC, Access
from mggcn.data import Dataset, data_roots, is_dataset
from mggcn.errors import InputError, prefix_errors, unknown
from mggcn.experiments._sections import ExperimentInfo
from mggcn.methods import Method, Preset, published
from mggcn.methods.settings import convert, divide, is_import_path, refuse_imports
from mggcn.runs import DataIdentity, Plan, resolve
from mggcn.training import Training

RUNS = Path("experiments-runs")
Text = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x1f\x7f]*$")]
"""One line of text in a file; what Python code passes is not checked."""
FolderName = Annotated[str, msgspec.Meta(pattern=r"^\w[\w.-]*$")]


class Variant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the tables: a method with settings.

    Attributes:
        label: its name in tables.
        method: a name from :data:`mggcn.methods.METHODS`, an import path, a class or an object.
        settings: what makes it a variant of that method.
        on: further settings on single data sets.
        grows: how the number of nodes of a batch grows according to the paper, such as ``O(b d^L)``.
    """

    label: Text
    method: Any
    settings: Mapping[str, Any] = {}
    on: Mapping[str, Mapping[str, Any]] = {}
    grows: Text = ""

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
    heading: Text
    datasets: Mapping[str, str] | None = None

    def results(self, dataset: str, plan: Plan) -> dict[str, float]:
        """The results of the table for a data set and a plan.

        A result belongs to the plan with the same method and the same values of those settings in which the table's
        results for that method differ.
        """
        table = published.table(self.table)
        name = dataset if self.datasets is None else self.datasets.get(dataset)
        rows = table.rows if table else []
        results = [result for result in rows if (result.dataset, result.method) == (name, plan.name)]
        settings = {name for result in results for name in result.settings}
        compared = {name for name in settings if len({str(result.settings.get(name)) for result in results}) > 1}
        same = (
            result for result in results if all(result.settings.get(name) == plan.settings[name] for name in compared)
        )
        first = next(same, None)
        return first.measured if first else {}


class Experiment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Runs of several variants on several data sets, one table for each data set.

    Attributes:
        name: the name of the folder of its results.
        datasets: known names, folders, or names in ``folders``.
        variants: the rows of every table; ``variant`` in a file.
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
        methods: names that become the first variants, with their default settings; ``all`` for every method.
    """

    name: FolderName
    datasets: tuple[Text, ...]
    variants: tuple[Variant, ...] = msgspec.field(default=(), name="variant")
    seeds: int = 3
    title: Text = ""
    reproduces: Text = ""
    settings: Mapping[str, Any] = {}
    preset: Preset = "default"
    measure: Literal["accuracy", "epoch_seconds", "total_seconds"] = "accuracy"
    alone: bool = False
    reference: Reference | None = None
    folders: Mapping[str, Text] = {}
    path: Path | None = None
    flat: bool = False
    splits: int = 0
    methods: Literal["all"] | tuple[str, ...] = ()

    def __post_init__(self) -> None:
        named = ("all",) if self.methods == "all" else self.methods
        msgspec.structs.force_setattr(self, "variants", variants_of(named) + self.variants)
        msgspec.structs.force_setattr(self, "methods", ())
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

    def plans(self, data: DataIdentity | str, dataset: str | None = None) -> list[Plan]:
        """Each variant with every setting, which the identity of the data decides if it is known.

        Args:
            data: the identity, or only the name.
            dataset: its name in the experiment, if that is another one.
        """
        self.check()
        known = DataIdentity(data) if isinstance(data, str) else data
        plans = []
        for variant in self.variants:
            with prefix_errors(variant.label):
                overrides = self._overrides(variant, dataset or known.name)
                plans.append(resolve(variant.method, known, overrides, preset=self.preset))
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
    of_methods = Experiment("compare", (dataset,), methods=tuple(methods), seeds=seeds, splits=splits, flat=True)
    return msgspec.structs.replace(of_methods, settings=settings or {}, preset=preset)


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


def read(path: Path | str, *, allow_import: bool = False) -> Experiment:
    """Read and check an experiment file; every variant must resolve on every data set.

    Args:
        path: of the file.
        allow_import: allow the file to name Python code to import; only for files from a source you trust.
    """
    file = Path(path)
    experiment = msgspec.structs.replace(read_toml(file, Experiment), path=file)
    tables = {"settings": experiment.settings}
    for number, variant in enumerate(experiment.variants):
        tables[f"variant[{number}]"] = {"method": variant.method}
        tables[f"variant[{number}].settings"] = variant.settings
        tables |= {f"variant[{number}].on.{dataset}": settings for dataset, settings in variant.on.items()}
    names = {f"{field}.{name}": value for field, table in tables.items() for name, value in table.items()}
    refuse_imports(file, names, allow_import=allow_import)
    with prefix_errors(file):
        _check_names(experiment)
        for dataset in experiment.datasets:
            experiment.plans(DataIdentity(dataset))
    return experiment


def read_folder(folder: Path, *, allow_import: bool = False) -> list[Experiment]:
    """Read the experiments of a folder in the order of their file names; ``allow_import`` as in :func:`read`."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    return [read(path, allow_import=allow_import) for path in sorted(folder.glob("*.toml"))]


def _check_names(experiment: Experiment) -> None:
    """Raise InputError for names of data sets, or of the table of published results, that are not known."""
    known, names, reference = datasets.names(), experiment.datasets, experiment.reference
    kinds = {name.partition(":")[0] for name in known if name.partition(":")[2].isupper()}
    owners: dict[str, str] = {}
    for name in names:
        kind, _, argument = name.partition(":")
        is_folder = bool(name) and Path(name).is_dir()
        if not (name in known or name in experiment.folders or (argument and kind in kinds) or is_folder):
            raise InputError(f"datasets: {unknown('data set', name, [*known, *experiment.folders])}")
        owner = owners.setdefault(folder_name(name), name)
        if owner != name:
            raise InputError(f"datasets: {owner!r} and {name!r} would leave their results in the same folder")
    mentioned = {f"variant {variant.label!r}: on": variant.on for variant in experiment.variants}
    for field, used in {**mentioned, "reference.datasets": (reference and reference.datasets) or {}}.items():
        for name in used:
            if name not in names:
                raise InputError(f"{field}: {unknown('data set', name, names)}")
    if reference and reference.heading.strip() in ("", "paper"):
        raise InputError(f"reference.heading: {reference.heading!r} does not say how the results differ from ours")
    if reference and published.table(reference.table) is None:
        tables = [table.name for table in published.published().tables]
        raise InputError(f"reference.table: {unknown('table', reference.table, tables)}")


def _folder(name: str, root: Path | None) -> Path | None:
    return next((folder / name for folder in data_roots(root) if is_dataset(folder / name)), None)
