"""One recipe per paper, and the plain dictionary that lists them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from mggcn.dataset import UNLABELLED, Dataset
from mggcn.errors import InputError, unknown
from mggcn.keys import Key
from mggcn.methods import (
    as_gcn,
    cluster_gcn,
    deepwalk,
    fastgcn,
    gcn,
    graphsage,
    graphsaint,
    label_propagation,
    ladies,
    mg_fastgcn,
    mg_gcn,
    mg_graphsage,
    mlp,
    node2vec,
    paper,
    random_forest,
    settings,
    sgc,
    sign,
    vr_gcn,
)
from mggcn.methods.recipe import GraphView, Recipe
from mggcn.train import Method, Training
from mggcn.train.compute import Compute
from mggcn.train.scaling import Scaler

METHODS: dict[str, Recipe] = {
    "mg-gcn": mg_gcn.RECIPE,
    "gcn": gcn.RECIPE,
    "sgc": sgc.RECIPE,
    "sign": sign.RECIPE,
    "cluster-gcn": cluster_gcn.RECIPE,
    "fastgcn": fastgcn.RECIPE,
    "ladies": ladies.RECIPE,
    "mg-fastgcn": mg_fastgcn.RECIPE,
    "graphsage-mean": graphsage.MEAN,
    "graphsage-gcn": graphsage.GCN,
    "graphsage-pool": graphsage.POOL,
    "graphsage-lstm": graphsage.LSTM,
    "mg-graphsage": mg_graphsage.RECIPE,
    "graphsaint": graphsaint.RECIPE,
    "vr-gcn": vr_gcn.RECIPE,
    "as-gcn": as_gcn.RECIPE,
    "label-propagation": label_propagation.RECIPE,
    "deepwalk": deepwalk.RECIPE,
    "node2vec": node2vec.RECIPE,
    "mlp": mlp.RECIPE,
    "random-forest": random_forest.RECIPE,
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

    def place(self, device: torch.device) -> Compute:
        """Where and how to compute on a device."""
        return Compute(device, self.training.precision, self.training.threads or None)


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


def build(chosen: Plan, dataset: Dataset, key: Key, place: Compute) -> Method:
    """Prepare a method for training on a data set; weights are drawn from ``key``."""
    if dataset.split is None:
        raise InputError(f"{dataset.name}: no training labels (the data set has no split)")
    scaler = Scaler.fit(chosen.training.scaling, dataset)
    generator = torch.Generator().manual_seed(key.fold("weights").torch_seed)
    module = chosen.recipe.model(chosen.config, dataset.num_features, dataset.num_classes, generator)
    scene = see(dataset, scaler, module.to(place.device), key, place)
    whole = chosen.recipe.views(chosen.config, scene)
    on_train = chosen.training.training_graph
    if on_train == "train" or (on_train == "auto" and dataset.inductive):
        known = replace(scene, graph=dataset.graph.subgraph(dataset.split.train))
        return Method(module, chosen.recipe.views(chosen.config, known).train, whole.eval, scaler)
    return Method(module, whole.train, whole.eval, scaler)


def see(dataset: Dataset, scaler: Scaler, model: nn.Module, key: Key, place: Compute) -> GraphView:
    """A data set as recipes see it: of the labels only those of training nodes, or all where there is no split."""
    known = np.array(dataset.y)
    if dataset.split is not None:
        hidden = np.ones(dataset.num_nodes, bool)
        hidden[dataset.split.train] = False
        known[hidden] = UNLABELLED
    return GraphView(dataset.graph, scaler.apply(dataset.x), known, model, key, place)
