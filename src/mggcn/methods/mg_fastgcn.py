"""MG-FastGCN: the fine first layer of MG-GCN below FastGCN's sampled layers.

Inputs are ``[x | mean of x over N(v) and v]``, computed once, so that the fine layer keeps each node's own features
beside its neighbourhood's; blocks are FastGCN's layer samples, one for every layer above. Scores are computed on the
whole graph.
"""

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import nn

from mggcn.kernels.aggregate import neighbour_mean
from mggcn.methods.fastgcn import sampled_and_whole
from mggcn.methods.network import Network, at_least_one
from mggcn.methods.recipe import GraphView, Recipe
from mggcn.nn import GCNConv, Linear, Stack
from mggcn.sampling.adjacency import propagation
from mggcn.sampling.layerwise import Candidates, FastGCNSampler
from mggcn.train import Views
from mggcn.train.inputs import inputs_of


@dataclass(frozen=True)
class Config(Network):
    """MG-FastGCN's settings.

    Attributes:
        samples: nodes drawn per layer.
        candidates: draw from ``all`` nodes, or from the ``neighbours`` of the layer above.
    """

    samples: int = 400
    candidates: Candidates = "neighbours"

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "samples")


def model(config: Config, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
    """The module, its weights drawn from ``generator``."""
    widths = config.widths(2 * in_channels, out_channels)
    first = Linear(*widths[:2], bias=config.bias, generator=generator)
    convs = [GCNConv(a, b, bias=config.bias, generator=generator) for a, b in pairwise(widths[1:])]
    return Stack(convs, first=first, dropout=config.dropout)


def views(config: Config, scene: GraphView) -> Views:
    """Prepare a graph: the fine layer's means and the normalised adjacency."""
    means = neighbour_mean(scene.graph, scene.x, include_self=True, threads=scene.place.threads)
    adjacency = propagation(scene.graph)
    sampler = FastGCNSampler(adjacency, config.layers - 1, config.samples, config.candidates)
    return sampled_and_whole(inputs_of([scene.x, means], scene.place), sampler, adjacency)


RECIPE = Recipe(Config, model, views)
