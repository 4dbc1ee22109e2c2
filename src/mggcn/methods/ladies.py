"""LADIES: layer-dependent importance sampling for training deep and large graph convolutional networks.

From Zou, Hu, Wang, Jiang, Sun and Gu.

Inputs are x; blocks are one layer sample shared by the batch, drawn among the neighbours of the layer above in
proportion to |P(:, u)|² over its rows, where P is D^-1 (A + I) as in the authors' code. Scores are computed on the
whole graph.

Differs from the paper: draws are with replacement, the model has a GCN's depth of 2 by default where the paper's has 5,
and the last layer is a graph convolution (the authors' code puts a linear layer on top).
"""

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import nn

from mggcn.methods.network import Network, at_least_one
from mggcn.methods.recipe import GraphView, Recipe
from mggcn.nn import GCNConv, Stack
from mggcn.sampling import WholeGraphSampler
from mggcn.sampling.adjacency import Normalisation, propagation
from mggcn.sampling.layerwise import LadiesSampler
from mggcn.train import View, Views
from mggcn.train.inputs import inputs_of


@dataclass(frozen=True)
class Config(Network):
    """LADIES's settings.

    Attributes:
        samples: nodes drawn per layer; the paper tries 64 and 512.
        normalise: scale the factors that reach a receiver to sum to 1, as the authors do.
        propagation: the matrix P: ``row`` for D^-1 (A + I), which the scaled factors estimate, or ``symmetric``.
    """

    samples: int = 512
    normalise: bool = True
    propagation: Normalisation = "row"

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "samples")


def model(config: Config, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
    """The module, its weights drawn from ``generator``."""
    widths = config.widths(in_channels, out_channels)
    convs = [GCNConv(a, b, bias=config.bias, generator=generator) for a, b in pairwise(widths)]
    return Stack(convs, dropout=config.dropout)


def views(config: Config, scene: GraphView) -> Views:
    """Prepare a graph: its normalised adjacency."""
    adjacency = propagation(scene.graph, config.propagation)
    inputs = inputs_of([scene.x], scene.place)
    sampler = LadiesSampler(adjacency, config.layers, config.samples, config.normalise)
    return Views(View(inputs, sampler), View(inputs, WholeGraphSampler(adjacency, config.layers)))


RECIPE = Recipe(Config, model, views)
