"""One recipe per paper, and the plain dictionary that lists them."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from mggcn import settings
from mggcn.dataset import Dataset
from mggcn.errors import InputError, unknown
from mggcn.keys import Key
from mggcn.methods import mg_gcn, paper
from mggcn.place import Place
from mggcn.scaling import Scaler
from mggcn.train import Method, Training, View


@dataclass(frozen=True)
class Recipe:
    """How a method is made.

    Attributes:
        config: the frozen dataclass of its settings.
        defaults: settings by the name of the data set.
        model: from (config, in_channels, out_channels, generator of the weights) to a module.
        view: from (config, graph, scaled x, key, place) to what the module sees of a graph.
    """

    config: type[Any]
    defaults: Callable[[str], dict[str, object]]
    model: Callable[[Any, int, int, torch.Generator | None], nn.Module]
    view: Callable[..., View]


METHODS: dict[str, Recipe] = {
    "mg-gcn": Recipe(mg_gcn.Config, mg_gcn.defaults, mg_gcn.model, mg_gcn.view),
}


@dataclass(frozen=True)
class Plan:
    """A method with every setting resolved."""

    method: str
    config: Any
    training: Training

    @property
    def recipe(self) -> Recipe:
        """How the method is made."""
        return METHODS[self.method]

    @property
    def settings(self) -> dict[str, object]:
        """All settings in one flat table."""
        return {**asdict(self.config), **asdict(self.training)}

    def place(self, device: torch.device) -> Place:
        """Where and how to compute on a device."""
        return Place(device, self.training.precision, self.training.threads or None)


def plan(method: str, dataset: str, overrides: Mapping[str, object]) -> Plan:
    """Resolve a method's settings: its own defaults, then the paper's for this data set, then ``overrides``."""
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    recipe = METHODS[method]
    names = set(recipe.config.__dataclass_fields__) | set(Training.__dataclass_fields__)
    shared = {key: value for key, value in paper.settings(dataset).items() if key in names}
    values = {**shared, **recipe.defaults(dataset), **overrides}
    of_method, of_training = settings.divide(values, recipe.config, Training)
    return Plan(method, settings.build(recipe.config, of_method), settings.build(Training, of_training))


def build(chosen: Plan, dataset: Dataset, key: Key, place: Place) -> Method:
    """Prepare a method for training on a data set; weights are drawn from ``key``."""
    if dataset.split is None:
        raise InputError(f"{dataset.name}: no training labels (the data set has no split)")
    scaler = Scaler.fit(chosen.training.scaling, dataset)
    x = scaler.apply(dataset.x)
    generator = torch.Generator().manual_seed(key.fold("weights").torch_seed)
    module = chosen.recipe.model(chosen.config, dataset.num_features, dataset.num_classes, generator)
    whole = chosen.recipe.view(chosen.config, dataset.graph, x, key, place)
    on_train = chosen.training.training_graph
    if on_train == "train" or (on_train == "auto" and dataset.inductive):
        graph = dataset.graph.subgraph(dataset.split.train)
        train = chosen.recipe.view(chosen.config, graph, x, key, place)
    else:
        train = whole
    return Method(module.to(place.device), train, whole, scaler)
