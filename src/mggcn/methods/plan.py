"""Plan: a method with every setting resolved; from a plan and a data set to what the training loop needs."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mggcn import methods
from mggcn.data import UNLABELLED, Cache, Dataset, names_in_draws, prepared_folder
from mggcn.errors import InputError, unknown
from mggcn.kernels.threads import available
from mggcn.keys import Key
from mggcn.methods import published, settings
from mggcn.methods._train_graph import on_training_nodes
from mggcn.methods.method import GraphView, Method
from mggcn.methods.published import Preset, Traits
from mggcn.training import ALONE, Compute, Prepared, Ranks, Scaled, Scaler, Training, features_by_density

WITHOUT_EFFECT = ("threads",)
"""Settings that cannot change the results of a model."""


@dataclass(frozen=True)
class Plan:
    """A method with every setting resolved.

    Attributes:
        name: the name of the method in records: one of :data:`mggcn.methods.METHODS`, or the import path of a user's
            own class.
        method: with its settings.
        training: the settings of training.
    """

    name: str
    method: Method
    training: Training

    @property
    def settings(self) -> dict[str, Any]:
        """All settings in one flat table, ready for JSON."""
        values = {field.name: getattr(self.method, field.name) for field in fields(self.method)}
        return {name: settings.plain(value) for name, value in {**values, **asdict(self.training)}.items()}

    def check_loadable(self) -> None:
        """Raise InputError, naming the setting, if a run that is saved with this plan could not be loaded."""
        settings.check_importable("method", type(self.method))
        for field in fields(self.method):
            settings.check_importable(field.name, getattr(self.method, field.name))

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
    ) -> Prepared:
        """Create the model, its inputs and its samplers.

        The initial weights depend on ``key`` alone and the scaling on the training nodes, unless both are given.
        """
        split = dataset.require_split()
        if self.method.uses_features and dataset.num_features == 0:
            others = ", ".join(name for name, kind in methods.METHODS.items() if not kind.uses_features)
            raise InputError(f"{dataset.name}: no features, which {self.name} needs; {others} do not need them")
        scaler = scaler or Scaler.fit(self.training.scaling, dataset)
        seed = key.fold("weights").torch_seed
        with torch.random.fork_rng([]):
            torch.manual_seed(seed)
            generator = torch.Generator().manual_seed(seed)
            model = self.method.model(dataset.num_features, dataset.num_classes, generator).to(compute.device)
            if weights is not None:
                self._load(model, weights)
            scored = view_of(dataset, scaler, model, key, compute)
            trained = replace(scored, training=self.training)
            if not self.trains_on_part(dataset):
                whole = self.method.prepare(trained)
                return Prepared(model, whole.train, whole.eval, scaler)
            whole = self.method.prepare(scored)
            part = self.method.prepare(on_training_nodes(trained, split.train, _hash(split.train)))
            return Prepared(model, part.train, whole.eval, scaler)

    def trains_on_part(self, dataset: Dataset) -> bool:
        """Whether the model trains on the sub-graph of the training nodes."""
        on_train = self.training.training_graph
        return on_train == "train" or (on_train == "auto" and dataset.inductive)

    def _load(self, model: nn.Module, weights: Mapping[str, Tensor]) -> None:
        try:
            model.load_state_dict(weights)
        except RuntimeError:
            raise InputError(f"weights: do not fit the model of {self.name} with these settings") from None


def view_of(dataset: Dataset, scaler: Scaler, model: nn.Module, key: Key, compute: Compute) -> GraphView:
    """A data set as methods receive it: scaled features, and training labels (all labels if there is no split)."""
    scaled, labels = Scaled(features_by_density(dataset), scaler), partial(known_labels, dataset)
    source = None
    if compute.cache is not None:
        source = {"name": dataset.name, "data": dataset.digest, "scaling": scaler.digest, "graph": "whole"}
    names = cache(partial(names_in_draws, dataset))
    return GraphView(dataset.graph, scaled, labels, dataset.num_classes, model, key, compute, source, read_names=names)


def _is_as_stored(dataset: Dataset) -> bool:
    """Whether a data set is mapped and its features are those of its folder."""
    x = dataset.x
    is_mapped = x.filename is not None if isinstance(x, np.memmap) else not isinstance(x, np.ndarray)
    return dataset.mapped is not None and is_mapped


def _hash(nodes: NDArray[np.int64]) -> str:
    return hashlib.sha256(nodes.tobytes()).hexdigest()


def known_labels(dataset: Dataset) -> NDArray[np.int64]:
    """[num_nodes] the labels that methods may read: of training nodes, or all if there is no split; else -1."""
    labels = np.array(dataset.y)
    if dataset.split is not None:
        hidden = np.ones(dataset.num_nodes, bool)
        hidden[dataset.split.train] = False
        labels[hidden] = UNLABELLED
    return labels


def resolve(
    method: str | Method | type[Method],
    dataset: str,
    overrides: Mapping[str, object] | None = None,
    training: Training | None = None,
    *,
    preset: Preset = "default",
    traits: Traits | None = None,
) -> Plan:
    """Resolve every setting of a method on a data set.

    A name or a class starts from its defaults; the settings in ``published.toml`` for the preset and the data set and
    then ``overrides`` replace them. An object keeps its fields; only the training settings come from
    ``published.toml``.

    Args:
        method: a name, ``package.module:Class``, a class or an object.
        dataset: the name of the data set.
        overrides: settings of the method or of training, which may still be text.
        training: the training settings, used as they are.
        preset: ``default`` is our recipe, ``paper`` what the method's paper and its authors' code use.
        traits: of the data set, on which recipes depend; None if they are not known yet.
    """
    kind = type(method) if isinstance(method, Method) else method_class(method)
    name = method_name(kind)
    of_method, of_training = settings.divide(overrides or {}, kind, Training)
    known = {field.name for owner in (kind, Training) for field in fields(owner)}
    start = published.settings(dataset, name, preset, traits)
    presets = settings.divide({key: value for key, value in start.items() if key in known}, kind, Training)
    if training is not None and not isinstance(training, Training):
        raise InputError(f"training: must be a Training, not {type(training).__name__}; single settings go in settings")
    if training is None:
        training = settings.build(Training, presets[1] | of_training)
    elif of_training:
        raise InputError(f"{next(iter(of_training))}: given in the settings and in training; name it once")
    if isinstance(method, Method):
        return Plan(name, replace(method, **settings.convert(kind, of_method)), training)
    return Plan(name, settings.build(kind, presets[0] | of_method), training)


def method_class(method: str | type[Method]) -> type[Method]:
    """The class of a method's name or import path."""
    if isinstance(method, str):
        if method in methods.METHODS:
            return methods.METHODS[method]
        if not settings.is_import_path(method):
            raise unknown("method", method, methods.METHODS)
        kind = settings.import_object(method)
    else:
        kind = method
    if isinstance(kind, nn.Module) or (isinstance(kind, type) and issubclass(kind, nn.Module)):
        module = kind.__name__ if isinstance(kind, type) else type(kind).__name__
        raise InputError(
            f"method: {module} is a module, not a Method; for a convolution of PyG use "
            f"mggcn.methods.MixGrained(conv=lambda i, o: mggcn.nn.PyGConv({module}(i, o))), "
            "for a whole model extend mggcn.methods.Method"
        )
    if not (isinstance(kind, type) and issubclass(kind, Method) and is_dataclass(kind)):
        raise InputError(
            f"method: {method if isinstance(method, str) else repr(method)} is not a name of a method, a Method or "
            "a dataclass that extends mggcn.methods.Method"
        )
    return kind


def method_name(kind: type[Method]) -> str:
    """The name of a method's class, or the import path of a user's own."""
    return next((name for name, known in methods.METHODS.items() if known is kind), settings.import_path(kind))


def published_results(
    dataset: Mapping[str, Any], method: str, values: Mapping[str, Any] | None = None
) -> dict[str, float]:
    """MG-GCN's published results to show beside a run of ours, by what they measure.

    This is the only rule: a result is shown only for the same data (by digest, which covers the split) and the same
    settings, except those that cannot change results.

    Args:
        dataset: a record's description of its data set.
        method: a record's method.
        values: a record's settings; None for the results with the paper's settings, to be shown as such.
    """
    name = str(dataset["name"])
    results: dict[str, float] = {}
    data = published.published().data.get(name)
    if data is None or dataset.get("digest") != data.digest:
        return {}
    for table in published.published().tables:
        for row in table.rows if table.name != published.OWN else ():
            if (row.dataset, row.method) != (name, method):
                continue
            if not row.settings if values is None else _has_settings(row, values):
                results |= row.measured
    return results


def _has_settings(row: published.Result, values: Mapping[str, Any]) -> bool:
    expected = resolve(row.method, row.dataset, row.settings, preset="paper").settings
    return all(values.get(key, value) == value for key, value in expected.items() if key not in WITHOUT_EFFECT)
