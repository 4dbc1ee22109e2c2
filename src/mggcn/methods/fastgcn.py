"""FastGCN: fast learning with graph convolutional networks via importance sampling (Chen, Ma and Xiao).

Inputs are Â x, the lowest layer's aggregate computed once as in the authors' code; blocks are one layer sample shared
by the batch, drawn in proportion to |Â(:, u)|², for every layer above. Scores are computed on the whole graph.

Differs from the paper: draws fall on the neighbours of the layer above by default, as in the authors' code, with the
probabilities that belong to it (theirs keep the factors of the whole graph, which are off by a constant, and draw
without replacement).
"""

from dataclasses import dataclass
from itertools import pairwise

import torch
from scipy.sparse import csr_array
from torch import nn

from mggcn.methods.network import Network, at_least_one
from mggcn.methods.recipe import GraphView, Recipe
from mggcn.nn import GCNConv, Linear, Stack
from mggcn.sampling import RowSampler, WholeGraphSampler
from mggcn.sampling.adaptive import AdaptiveSampler
from mggcn.sampling.adjacency import propagated, propagation
from mggcn.sampling.layerwise import Candidates, FastGCNSampler
from mggcn.train import View, Views
from mggcn.train.inputs import Inputs, inputs_of


@dataclass(frozen=True)
class Config(Network):
    """FastGCN's settings.

    Attributes:
        samples: nodes drawn per layer.
        candidates: draw from ``all`` nodes (the paper's law), or from the ``neighbours`` of the layer above (the
            authors' code).
        precompute: aggregate the features once before training, so that the lowest layer is exact and not sampled.
    """

    samples: int = 400
    candidates: Candidates = "neighbours"
    precompute: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "samples")


def model(config: Config, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
    """The module, its weights drawn from ``generator``."""
    widths = config.widths(in_channels, out_channels)
    if not config.precompute:
        convs = [GCNConv(a, b, bias=config.bias, generator=generator) for a, b in pairwise(widths)]
        return Stack(convs, dropout=config.dropout)
    first = Linear(*widths[:2], bias=config.bias, generator=generator)
    convs = [GCNConv(a, b, bias=config.bias, generator=generator) for a, b in pairwise(widths[1:])]
    return Stack(convs, first=first, dropout=config.dropout)


def views(config: Config, scene: GraphView) -> Views:
    """Prepare a graph: its normalised adjacency, and the features' aggregate."""
    adjacency = propagation(scene.graph)
    x = propagated(adjacency, scene.x, scene.place.threads) if config.precompute else scene.x
    blocks = config.layers - int(config.precompute)
    sampler = FastGCNSampler(adjacency, blocks, config.samples, config.candidates)
    return sampled_and_whole(inputs_of([x], scene.place), sampler, adjacency)


def sampled_and_whole(inputs: Inputs, sampler: FastGCNSampler | AdaptiveSampler, adjacency: csr_array) -> Views:
    """Views of the same inputs: sampled in training, and the whole graph when scored."""
    exact = WholeGraphSampler(adjacency, sampler.layers) if sampler.layers else RowSampler()
    return Views(View(inputs, sampler), View(inputs, exact))


RECIPE = Recipe(Config, model, views)
