"""MLP: a network that sees each node's own features and nothing of the graph; every graph method must beat it."""

from dataclasses import dataclass

import torch
from torch import nn

from mggcn.methods.network import Network
from mggcn.methods.recipe import GraphView, Recipe
from mggcn.nn import MLP
from mggcn.sampling import RowSampler
from mggcn.train import View, Views
from mggcn.train.inputs import inputs_of


@dataclass(frozen=True)
class Config(Network):
    """The MLP's settings."""


def model(config: Config, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
    """The module, its weights drawn from ``generator``."""
    widths = config.widths(in_channels, out_channels)
    return MLP(widths, dropout=config.dropout, bias=config.bias, generator=generator)


def views(config: Config, scene: GraphView) -> Views:  # noqa: ARG001
    """Prepare the features alone."""
    view = View(inputs_of([scene.x], scene.place), RowSampler())
    return Views(view, view)


RECIPE = Recipe(Config, model, views)
