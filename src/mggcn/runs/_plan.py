"""Plan: which run; from a plan and a data set to what the training loop needs, and to the files that name the run."""

import hashlib
import json
import logging
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from torch import Tensor

from mggcn import methods
from mggcn._io.files import read_toml
from mggcn._io.memory import size
from mggcn.data import Cache, Dataset, prepared_folder
from mggcn.errors import InputError, prefix_errors
from mggcn.kernels.threads import available
from mggcn.keys import Key
from mggcn.methods import (
    Method,
    Preset,
    Shared,
    memory_for_rows,
    on_training_nodes,
    published,
    settings,
    view_of,
)
from mggcn.training import ALONE, Compute, Prepared, Ranks, RunRecord, Scaler, Training, environment, is_read_dense

_log = logging.getLogger(__name__)

WITHOUT_EFFECT = ("threads",)
"""Settings that cannot change the results of a model."""
MAY_CHANGE = ("epochs", "patience")
"""The settings that a run may be resumed with other values of."""
_CPU = torch.device("cpu")
_BYTES_PER_NODE = 24  # degrees, weights of picks and the membership of training nodes
_BYTES_OF_BATCHES = 512 << 20  # libraries, batches and scores in chunks


class DataIdentity(msgspec.Struct, frozen=True):
    """The data of a run: what tells them from others, and what the settings of methods depend on.

    Attributes:
        name: of the data set.
        digest: of its content, split included; None before it is loaded.
        is_sparse: whether most features are 0; None before it is loaded.
        split_seed: of the random split that replaces that of the digest; None for the split of the digest.
    """

    name: str
    digest: str | None = None
    is_sparse: bool | None = None
    split_seed: int | None = None

    @classmethod
    def of(cls, dataset: Dataset) -> "DataIdentity":
        """The identity of a data set."""
        return cls(dataset.name, dataset.digest, dataset.is_sparse)


@dataclass(frozen=True)
class Plan:
    """Which run: a method and training with every setting resolved, data, seed and device.

    Attributes:
        method: with its settings.
        training: the settings of training.
        data: on which it is trained.
        seed: of weights, order and picks.
        device: of the model; its type is part of the identity.
        warm_start: what a record says of the run whose weights it starts with; None for weights drawn at random.
        members: of a portfolio, for each recipe the settings in which the recipes differ, with its values; the first
            has those of the plan. Empty if one recipe is trained.
    """

    method: Method
    training: Training
    data: DataIdentity
    seed: int = 0
    device: torch.device = _CPU
    warm_start: Mapping[str, Any] | None = None
    members: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def of_portfolio(cls, plans: "Sequence[Plan]") -> "Plan":
        """The plan that trains the recipes of several plans, which differ only in settings; equal ones count once."""
        tables = [plan.values for plan in plans]
        tables = [table for number, table in enumerate(tables) if table not in tables[:number]]
        if len(tables) == 1:
            return plans[0]
        differing = [name for name, value in tables[0].items() if any(table[name] != value for table in tables)]
        members = tuple({name: table[name] for name in differing} for table in tables)
        return replace(plans[0], training=replace(plans[0].training, portfolio="auto"), members=members)

    @property
    def recipes(self) -> "tuple[Plan, ...]":
        """The plan of each recipe of the portfolio, as it would be trained alone; this plan if there is none."""
        if not self.members:
            return (self,)
        alone = replace(self, training=replace(self.training, portfolio="none"), members=())
        return tuple(alone.with_settings(table) for table in self.members)

    def with_settings(self, values: Mapping[str, object]) -> "Plan":
        """This plan with other values of some settings, which may still be text."""
        of_method, of_training = settings.divide(values, type(self.method), Training)
        method = replace(self.method, **settings.convert(type(self.method), of_method))
        return replace(self, method=method, training=replace(self.training, **settings.convert(Training, of_training)))

    @property
    def values(self) -> dict[str, Any]:
        """All settings in one flat table."""
        return {field.name: getattr(self.method, field.name) for field in fields(self.method)} | asdict(self.training)

    @property
    def name(self) -> str:
        """The name of the method: one of :data:`mggcn.methods.METHODS`, or the import path of a user's own class."""
        return methods.method_name(type(self.method))

    @property
    def settings(self) -> dict[str, Any]:
        """All settings in one flat table, ready for JSON; ``portfolio`` is one of them only if there is one."""
        left_out = () if self.members else ("portfolio",)
        return {name: settings.plain(value) for name, value in self.values.items() if name not in left_out}

    @property
    def tables(self) -> list[dict[str, Any]]:
        """The members, ready for JSON."""
        return [{name: settings.plain(value) for name, value in table.items()} for table in self.members]

    @property
    def identity(self) -> dict[str, Any]:
        """All that determines the result: what must be the same for two runs to be the same, ready for JSON."""
        values = {name: value for name, value in self.settings.items() if name not in WITHOUT_EFFECT}
        tables = [{name: _whole(value) for name, value in table.items()} for table in self.tables]
        return {
            "data_set": self.data.name,
            "data_set_digest": self.data.digest,
            "split_seed": self.data.split_seed,
            "method": self.name,
            "method_version": self.method.version,
            "seed": self.seed,
            "device": self.device.type,
            "settings": {name: _whole(value) for name, value in values.items()},
            "warm_start": self.warm_start and self.warm_start["weights"],
            **({"members": tables} if tables else {}),
        }

    def unused_parts(self, dataset: Dataset, trained: RunRecord | None = None) -> str:
        """The sentence on what is known of a graph's edges and not used by the method; empty if all of it is used.

        ``trained`` is the record of the run that the features and the types of edges are matched with, if there is one.
        """
        schema, num_features = dataset.graph.schema, dataset.num_features
        if trained is not None:
            num_features = int(trained.dataset["num_features"])
            if "type" in self.method.edge_parts:
                schema = replace(schema, types=trained.edges.types)
        parts = [f"{part}s" for part in self.method.unused(schema, num_features)]
        listed = " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
        reason = self.method.unused_reason(schema, num_features)
        return f"{self.name} does not use the {listed} of edges{reason and f': {reason}'}" if parts else ""

    @cached_property
    def digest(self) -> str:
        """The sha256 of the identity as JSON with sorted keys: the key of the run in a ledger."""
        text = json.dumps(self.identity, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def identity_to_resume(self) -> dict[str, Any]:
        """The identity without what may change while a run is interrupted."""
        kept = {name: value for name, value in self.identity["settings"].items() if name not in MAY_CHANGE}
        return self.identity | {"settings": kept}

    @property
    def record_fields(self) -> dict[str, Any]:
        """The fields of a record that say which run it is of, except for the data."""
        return {
            "method": self.name,
            "method_version": self.method.version,
            "seed": self.seed,
            "settings": self.settings,
            "device": self.device.type,
            "warm_start": self.warm_start,
        }

    def config(self, path: str | Path | None) -> dict[str, Any]:
        """The content of ``config.toml``, from which the run can be trained again; ``path`` is that of its data."""
        origin = {"warm_start": self.warm_start["path"]} if self.warm_start else {}
        return {
            "dataset": str(path or self.data.name),
            "method": self.name,
            "seed": self.seed,
            "device": self.device.type,
            **origin,
            "settings": self.settings,
            **({"members": self.tables} if self.members else {}),
        }

    def check_ranks(self, ranks: Ranks) -> None:
        """Raise InputError, on every rank, unless all have this plan and the same versions."""
        if ranks != ALONE:
            identity = self.identity | {"settings": self.settings} | environment.versions()
            ranks.check(self.device, self.training.batch_size, identity)

    def check_loadable(self) -> None:
        """Raise InputError, naming the setting, if a run that is saved with this plan could not be loaded."""
        settings.check_importable("method", type(self.method))
        for recipe in self.recipes:
            for field in fields(recipe.method):
                settings.check_importable(field.name, getattr(recipe.method, field.name))

    def compute(self, device: torch.device, ranks: Ranks = ALONE, dataset: Dataset | None = None) -> Compute:
        """The device, precision, threads, ranks and cache of a run.

        Ranks on one machine share its cores. What is computed from a mapped data set before training, or for several
        ranks on a machine, is kept on disk.
        """
        threads = self.training.threads or (max(1, available() // ranks.local_size) if ranks.size > 1 else None)
        on_disk = dataset is not None and (_is_as_stored(dataset) or ranks.local_size > 1)
        cache = Cache(prepared_folder(dataset), dataset.access.memory) if dataset is not None and on_disk else None
        return Compute(device, self.training.precision, threads, ranks, cache)

    def prepare(
        self,
        dataset: Dataset,
        key: Key,
        compute: Compute,
        weights: Mapping[str, Tensor] | None = None,
        scaler: Scaler | None = None,
        shared: Shared | None = None,
    ) -> Prepared:
        """Create the model, its inputs and its samplers.

        The initial weights depend on ``key`` alone and the scaling on the training nodes, unless both are given.
        ``shared`` has what other recipes of a portfolio have prepared.
        """
        shared = shared or Shared()
        split = dataset.require_split()
        if self.method.uses_features and dataset.num_features == 0:
            others = ", ".join(name for name, kind in methods.METHODS.items() if not kind.uses_features)
            raise InputError(f"{dataset.name}: no features, which {self.name} needs; {others} do not need them")
        kind = self.training.scaling
        scaler = scaler or shared.once(("scaler", kind), lambda: Scaler.fit(kind, dataset))
        seed = key.fold("weights").torch_seed
        with torch.random.fork_rng([]):
            torch.manual_seed(seed)
            generator = torch.Generator().manual_seed(seed)
            width = self.method.input_width(dataset.num_features, dataset.graph.schema)
            model = self.method.model(width, dataset.num_classes, generator).to(compute.device)
            if weights is not None:
                try:
                    model.load_state_dict(weights)
                except RuntimeError:
                    raise InputError(f"weights: do not fit the model of {self.name} with these settings") from None
            scored = view_of(dataset, scaler, model, key, compute, shared)
            trained = replace(scored, training=self.training)
            if not self.trains_on_part(dataset):
                whole = self.method.prepare(trained)
                return Prepared(model, whole.train, whole.eval, scaler, whole.notes)
            whole, digest = self.method.prepare(scored), hashlib.sha256(split.train.tobytes()).hexdigest()
            part = self.method.prepare(on_training_nodes(trained, split.train, digest))
            return Prepared(model, part.train, whole.eval, scaler, part.notes)

    def trains_on_part(self, dataset: Dataset) -> bool:
        """Whether the model trains on the sub-graph of the training nodes."""
        on_train = self.training.training_graph
        return on_train == "train" or (on_train == "auto" and dataset.inductive)


def _is_as_stored(dataset: Dataset) -> bool:
    """Whether a data set is mapped and its features are those of its folder."""
    x = dataset.x
    is_mapped = x.filename is not None if isinstance(x, np.memmap) else not isinstance(x, np.ndarray)
    return dataset.mapped is not None and is_mapped


def resolve(
    method: str | Method | type[Method],
    data: Dataset | DataIdentity | str,
    overrides: Mapping[str, object] | None = None,
    training: Training | None = None,
    *,
    preset: Preset = "default",
    seed: int = 0,
    device: torch.device = _CPU,
    warm_start: Mapping[str, Any] | None = None,
    members: Sequence[Mapping[str, object]] | None = None,
) -> Plan:
    """Resolve every setting of a method on a data set; nothing else does.

    Each field is the first of these that is given: ``overrides``; the field of ``method``, if it is an object, or of
    ``training``, of which every field counts as given; the preset's value for the data set in ``published.toml``; the
    default of the class.

    Args:
        method: a name, ``package.module:Class``, a class or an object.
        data: the data, their identity, or their name before they are loaded.
        overrides: settings of the method or of training, which may still be text.
        training: the training settings, used as they are.
        preset: ``default`` is our recipe, ``paper`` what the method's paper and its authors' code use.
        seed: of weights, order and picks.
        device: of the model.
        warm_start: as in :class:`Plan`.
        members: the settings that each recipe of a portfolio changes, also given ones; of the preset ``default`` they
            are those of ``published.toml`` when None, without given settings. Naming some switches the portfolio on.
    """
    if isinstance(data, str | Dataset):
        data = DataIdentity(data) if isinstance(data, str) else DataIdentity.of(data)
    kind = type(method) if isinstance(method, Method) else methods.method_class(method)
    of_method, of_training = settings.divide(overrides or {}, kind, Training)
    known = {field.name for owner in (kind, Training) for field in fields(owner)}
    start = published.settings(data.name, methods.method_name(kind), preset, is_sparse=data.is_sparse)
    presets = settings.divide({key: value for key, value in start.items() if key in known}, kind, Training)
    if training is not None and not isinstance(training, Training):
        raise InputError(f"training: must be a Training, not {type(training).__name__}; single settings go in settings")
    is_given = training is not None
    if training is None:
        trains_all: dict[str, object] = {"portfolio": "auto"} if members else {}
        training = settings.build(Training, presets[1] | trains_all | of_training)
    elif of_training:
        raise InputError(f"{next(iter(of_training))}: given in the settings and in training; name it once")
    _log.debug("%s on %s: settings resolved", methods.method_name(kind), data.name)
    of_preset, of_method = settings.convert(kind, presets[0]), settings.convert(kind, of_method)
    of_object = method.given_fields if isinstance(method, Method) else {}
    resolved = replace(kind(**{**of_preset, **of_object, **of_method}))  # of which all fields are given
    plan = Plan(resolved, replace(training, portfolio="none"), data, seed, device, warm_start)
    if training.portfolio == "none" or warm_start is not None:
        return plan
    if members is None:
        every = [field.name for field in fields(Training)]
        given = {*of_object, *of_method, *(every if is_given else of_training)}
        tables = published.portfolio(plan.name) if preset == "default" else []
        members = [{name: value for name, value in table.items() if name not in given} for table in tables]
    if len(members) > published.MOST_MEMBERS:
        raise InputError(f"members: {len(members)} recipes are more than {published.MOST_MEMBERS}")
    with prefix_errors("members"):
        return Plan.of_portfolio([plan.with_settings(table) for table in members or [{}]])


def published_results(
    dataset: Mapping[str, Any], method: str, values: Mapping[str, Any] | None = None
) -> dict[str, float]:
    """MG-GCN's published results to show beside a record of ours, by what they measure.

    This is the only rule: a result is shown only for the same data (by digest, which covers the split) and the same
    settings, except those that cannot change results; without ``values``, if it has the paper's settings.
    """
    name = str(dataset["name"])
    data = published.published().data.get(name)
    if data is None or dataset.get("digest") != data:
        return {}

    def is_same(row: published.PublishedResult) -> bool:
        if (row.dataset, row.method) != (name, method) or values is None:
            return (row.dataset, row.method) == (name, method) and not row.settings
        expected = resolve(row.method, row.dataset, row.settings, preset="paper").settings
        return all(values.get(key, value) == value for key, value in expected.items() if key not in WITHOUT_EFFECT)

    tables = (table for table in published.published().tables if table.name != published.OWN)
    rows = (row for table in tables for row in table.rows if is_same(row))
    return {what: value for row in rows for what, value in row.measured.items()}


@dataclass(frozen=True)
class Requirements:
    """What preparing mapped data and training or scoring on them need; what the system caches of files is not counted.

    ``memory`` is in bytes, and so are ``disk``, which is written, and ``kept``, which is there already from this data
    set.
    """

    memory: int
    disk: int
    cache: Cache
    kept: int

    @classmethod
    def of(cls, recipes: Sequence[Plan], dataset: Dataset, *, trains: bool = True) -> "Requirements | None":
        """What recipes need that are prepared one after the other.

        None if the data set is in memory, or all methods compute in memory what they need.
        """
        graph, width = dataset.graph, dataset.num_features
        if dataset.mapped is None or not is_read_dense(dataset):
            return None
        parts: dict[Hashable, int] = {}
        for recipe in recipes:
            of_recipe = recipe.method.on_disk(graph, width)
            is_part = trains and recipe.trains_on_part(dataset)
            for graph_of, what in product(("whole", "train") if is_part else ("whole",), of_recipe):
                parts[graph_of, recipe.training.scaling, what] = of_recipe[what]
            if of_recipe and is_part:
                parts["edges between training nodes"] = sum(array.nbytes for array in graph.arrays().values())
        if not parts:
            return None
        disk = sum(parts.values())
        cache = Cache(prepared_folder(dataset), dataset.access.memory)
        kept = sum(entry.num_bytes for entry in cache.entries() if entry.what.get("data") == dataset.digest)
        strips = memory_for_rows(graph.num_nodes, width, cache.memory)
        needed = strips + _BYTES_PER_NODE * graph.num_nodes + _BYTES_OF_BATCHES
        return cls(needed, disk, cache, kept)

    def __str__(self) -> str:
        disk = f"{size(self.disk)} of disk in {self.cache.folder}, where {size(self.cache.free())} are free"
        if self.kept:
            disk += f" and {size(self.kept)} of this data set are kept"
        return f"mapped: needs up to {size(self.memory)} of memory and {disk}"

    def check(self) -> None:
        """Raise InputError if the disk is too small."""
        if not self.kept:
            self.cache.require_disk(self.disk)


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The fields of a ``config.toml``, which :meth:`Plan.config` or a user wrote; all are optional.

    ``preset`` is where settings start that the file does not name. ``warm_start`` is the folder of the run whose
    weights it starts with. ``members`` are what each recipe of a portfolio changes in the settings.
    """

    dataset: str | None = None
    method: str | None = None
    seed: int = 0
    device: str = "auto"
    preset: Preset = "paper"
    warm_start: str | None = None
    settings: dict[str, Any] = {}
    members: list[dict[str, Any]] | None = None

    def members_but(self, changed: Collection[str]) -> list[dict[str, Any]] | None:
        """The members without settings that are given otherwise."""
        tables = self.members
        return tables and [{name: value for name, value in table.items() if name not in changed} for table in tables]


def read_config(path: Path, *, allow_import: bool = False) -> Config:
    """Read a ``config.toml``; ``allow_import`` as in :func:`mggcn.runs.load_run`."""
    config = read_toml(path, Config)
    for table in ({"method": config.method, **config.settings}, *(config.members or ())):
        settings.refuse_imports(path, table, allow_import=allow_import)
    return config


def _whole(value: object) -> object:
    """A whole number without a point, so that 1 and 1.0 are the same."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
