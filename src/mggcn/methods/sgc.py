"""SGC: simplifying graph convolutional networks (Wu and others).

Inputs are Â^k x with the symmetric normalisation, computed once; the model is a logistic regression; no blocks.
"""

from dataclasses import dataclass

import torch
from torch import nn

from mggcn.methods import paper
from mggcn.methods.network import at_least_one
from mggcn.methods.recipe import GraphView, Recipe
from mggcn.nn import MLP
from mggcn.sampling import RowSampler
from mggcn.sampling.adjacency import propagated, propagation
from mggcn.train import View, Views
from mggcn.train.inputs import inputs_of


@dataclass(frozen=True)
class Config:
    """SGC's settings.

    Attributes:
        hops: the power k.
        bias: of the regression.
    """

    hops: int = 2
    bias: bool = True

    def __post_init__(self) -> None:
        at_least_one(self, "hops")


def defaults(dataset: str) -> dict[str, object]:
    """The authors' learning rate for citation graphs; at the other methods' 0.01 it is far from done in 400 epochs."""
    return {"lr": 0.2} if paper.settings(dataset).get("scaling") == "row" else {}


def model(config: Config, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
    """The module, its weights drawn from ``generator``."""
    return MLP([in_channels, out_channels], bias=config.bias, generator=generator)


def views(config: Config, scene: GraphView) -> Views:
    """Prepare a graph: the features k hops out."""
    adjacency, x = propagation(scene.graph), scene.x
    for _ in range(config.hops):
        x = propagated(adjacency, x, scene.place.threads)
    view = View(inputs_of([x], scene.place), RowSampler())
    return Views(view, view)


RECIPE = Recipe(Config, model, views, defaults)
