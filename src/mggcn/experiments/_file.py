"""Reading an experiment from its TOML file."""

from pathlib import Path
from typing import Any, Literal

import msgspec

from mggcn import data as datasets
from mggcn import methods
from mggcn._io.files import read_toml, typed
from mggcn.errors import InputError, prefix_errors, unknown
from mggcn.experiments._definition import Experiment, Reference, Variant, folder_name, variants_of
from mggcn.experiments._table import GROWTH
from mggcn.methods import published
from mggcn.methods.published import Preset
from mggcn.methods.settings import refuse_imports
from mggcn.runs import DataIdentity


class _VariantTable(msgspec.Struct, forbid_unknown_fields=True):
    label: str
    method: str
    settings: dict[str, Any] = {}
    on: dict[str, dict[str, Any]] = {}
    grows: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of an experiment file.

    ``methods`` names methods with their default settings (``"all"`` for every method); ``variant`` describes single
    rows. Other fields are those of :class:`Experiment`.
    """

    name: str
    title: str
    reproduces: str
    datasets: list[str]
    seeds: int
    methods: Literal["all"] | list[str] = []
    variant: list[_VariantTable] = []
    settings: dict[str, Any] = {}
    preset: Preset = "default"
    measure: Literal["accuracy", "epoch_seconds", "total_seconds"] = "accuracy"
    alone: bool = False
    reference: Reference | None = None
    folders: dict[str, str] = {}


def read(path: Path | str, *, allow_import: bool = False) -> Experiment:
    """Read and check an experiment file; every variant must resolve on every data set.

    Args:
        path: of the file.
        allow_import: allow the file to name Python code to import; only for files from a source you trust.
    """
    file = Path(path)
    values = read_toml(file, dict[str, Any])
    with prefix_errors(file):
        for name in values:
            if name not in _File.__struct_fields__:
                raise unknown("field", name, _File.__struct_fields__)
        content = typed(_File, values)
    refuse_imports(file, _names(content), allow_import=allow_import)
    with prefix_errors(file):
        experiment = _experiment(file, content)
        for dataset in experiment.datasets:
            experiment.plans(DataIdentity(dataset))
    return experiment


def read_folder(folder: Path, *, allow_import: bool = False) -> list[Experiment]:
    """Read the experiments of a folder in the order of their file names; ``allow_import`` as in :func:`read`."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    return [read(path, allow_import=allow_import) for path in sorted(folder.glob("*.toml"))]


def _names(file: _File) -> dict[str, object]:
    """Methods and settings by their fields."""
    names: dict[str, object] = {f"methods[{number}]": name for number, name in enumerate(file.methods)}
    tables = {"settings": file.settings}
    for number, table in enumerate(file.variant):
        field = f"variant[{number}]"
        names[f"{field}.method"] = table.method
        tables[f"{field}.settings"] = table.settings
        tables |= {f"{field}.on.{dataset}": values for dataset, values in table.on.items()}
    return names | {f"{field}.{name}": value for field, values in tables.items() for name, value in values.items()}


def _experiment(path: Path, file: _File) -> Experiment:
    if file.name in ("", "..") or Path(file.name).name != file.name:
        raise InputError(f"name: {file.name!r} is not a name for a folder")
    texts = {"name": file.name, "title": file.title, "reproduces": file.reproduces}
    texts |= {f"folders.{name}": how for name, how in file.folders.items()}
    texts |= {f"variant[{number}].label": each.label for number, each in enumerate(file.variant)}
    for field, text in texts.items():
        if not text.isprintable():
            raise InputError(f"{field}: {text!r} is not one line of printable text")
    _check_datasets(file)
    if file.reference:
        _check_reference(file.reference, file.datasets)
    values = msgspec.structs.asdict(file)
    names, tables = values.pop("methods"), values.pop("variant")
    variants = variants_of(["all"] if names == "all" else names)
    variants += tuple(_variant(table, file.datasets) for table in tables)
    return Experiment(**values | {"datasets": tuple(file.datasets), "variants": variants, "path": path})


def _check_datasets(file: _File) -> None:
    known = datasets.names()
    kinds = {name.partition(":")[0] for name in known if name.partition(":")[2].isupper()}
    owners: dict[str, str] = {}
    if not file.datasets:
        raise InputError("datasets: there is none")
    for name in file.datasets:
        if not name or not name.isprintable():
            raise InputError(f"datasets: {name!r} is not a name")
        kind, _, argument = name.partition(":")
        if not (name in known or name in file.folders or (argument and kind in kinds) or Path(name).is_dir()):
            raise InputError(f"datasets: {unknown('data set', name, [*known, *file.folders])}")
        owner = owners.setdefault(folder_name(name), name)
        if owner != name:
            raise InputError(f"datasets: {owner!r} and {name!r} would leave their results in the same folder")


def _variant(table: _VariantTable, names: list[str]) -> Variant:
    with prefix_errors(f"variant {table.label!r}"):
        if table.method not in methods.METHODS:
            raise unknown("method", table.method, methods.METHODS)
        for dataset in table.on:
            if dataset not in names:
                raise InputError(f"on: {unknown('data set', dataset, names)}")
        if table.grows and not GROWTH.fullmatch(table.grows):
            raise InputError(f"grows: {table.grows!r} is not an order of growth such as 'O(b d^L)'")
    return Variant(**msgspec.structs.asdict(table))


def _check_reference(reference: Reference, names: list[str]) -> None:
    known = [table.name for table in published.published().tables]
    if reference.table not in known:
        raise InputError(f"reference.table: {unknown('table', reference.table, known)}")
    heading = reference.heading
    if not heading.strip() or not heading.isprintable() or heading.strip() == "paper":
        raise InputError(f"reference.heading: {heading!r} does not say how the results differ from ours")
    for dataset in reference.datasets or ():
        if dataset not in names:
            raise InputError(f"reference.datasets: {unknown('data set', dataset, names)}")
