"""VR-GCN: stochastic training of graph convolutional networks with variance reduction (Chen, Zhu and Song).

Inputs are Â x with the symmetric normalisation, the first layer's aggregate computed once; blocks hold a few neighbours
of each receiver, drawn uniformly, and each convolution above remembers the last hidden row of every node: it sums these
for all neighbours and corrects the sum by the drawn ones. Scores are exact, from the whole graph.

Differs from the authors' code: dropout acts on hidden rows alone, not on the inputs, and the mean that its estimator
takes is that of the layer at hand, which is the paper's where there are two layers; no layer normalisation.
"""

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import nn

from mggcn.errors import InputError
from mggcn.methods.network import Network, at_least_one
from mggcn.methods.recipe import GraphView, Recipe
from mggcn.nn import Linear, Stack
from mggcn.nn.history import HistoryConv
from mggcn.sampling import WholeGraphSampler
from mggcn.sampling.adjacency import propagated, propagation
from mggcn.sampling.history import HistorySampler
from mggcn.train import View, Views
from mggcn.train.inputs import inputs_of


@dataclass(frozen=True)
class Config(Network):
    """VR-GCN's settings.

    Attributes:
        layers: at least 2; the first needs no neighbours.
        fanout: neighbours drawn for each receiver, the paper's D; a node is among its own neighbours.
    """

    fanout: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "fanout")
        if self.layers < 2:
            raise InputError(f"layers: {self.layers} is less than 2")


def defaults(dataset: str) -> dict[str, object]:
    """The authors' settings where they name the data set."""
    if dataset.partition(":")[0] in ("reddit", "reddit-like"):
        return {"batch_size": 512, "dropout": 0.2, "lr": 0.01}
    return {}


def model(config: Config, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
    """The module, its weights drawn from ``generator``."""
    first, *others = pairwise(config.widths(in_channels, out_channels))
    below = Linear(*first, bias=config.bias, generator=generator)
    convs = [HistoryConv(a, b, dropout=config.dropout, bias=config.bias, generator=generator) for a, b in others]
    return Stack(convs, first=below)


def views(config: Config, scene: GraphView) -> Views:
    """Prepare a graph: its normalised adjacency and the features one hop out."""
    adjacency = propagation(scene.graph)
    inputs = inputs_of([propagated(adjacency, scene.x, scene.place.threads)], scene.place)
    sampled = HistorySampler(adjacency, config.layers - 1, config.fanout)
    return Views(View(inputs, sampled), View(inputs, WholeGraphSampler(adjacency, config.layers - 1)))


RECIPE = Recipe(Config, model, views, defaults)
