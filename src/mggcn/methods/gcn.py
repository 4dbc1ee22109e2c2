"""GCN: semi-supervised classification with graph convolutional networks (Kipf and Welling).

Inputs are x; blocks are whole neighbourhoods with the symmetric normalisation D^-½ (A + I) D^-½. One step an epoch over
the whole graph as in that paper, or mini-batches with whole neighbourhoods, which others call Batch GCN.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from mggcn.errors import InputError
from mggcn.methods.network import Network, stacked
from mggcn.methods.recipe import GraphView, Recipe
from mggcn.nn import GCNConv
from mggcn.sampling import FullSampler, WholeGraphSampler
from mggcn.sampling.adjacency import propagation
from mggcn.train import View, Views
from mggcn.train.inputs import inputs_of

_BYTES_AN_EDGE = 40  # senders, factors, and both by sender for the backward pass
_COPIES = 4  # of a hidden layer: before and after its sum, and their gradients


@dataclass(frozen=True)
class Config(Network):
    """GCN's settings.

    Attributes:
        batches: ``mini`` takes ``batch_size`` targets a step with all that reaches them, ``full`` the whole graph.
    """

    batches: Literal["mini", "full"] = "mini"


def model(config: Config, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
    """The module, its weights drawn from ``generator``."""
    return stacked(config, GCNConv, in_channels, out_channels, generator)


def views(config: Config, scene: GraphView) -> Views:
    """Prepare a graph: its normalised adjacency."""
    adjacency = propagation(scene.graph)
    inputs = inputs_of([scene.x], scene.place)
    whole = View(inputs, WholeGraphSampler(adjacency, config.layers))
    if config.batches == "full":
        _check_memory(config, scene)
        return Views(whole, whole)
    return Views(View(inputs, FullSampler(adjacency, config.layers)), whole)


def _check_memory(config: Config, scene: GraphView) -> None:
    """Say beforehand what a step over the whole graph needs where that is more than there is."""
    edges = scene.graph.num_stored + scene.graph.num_nodes
    numbers = scene.graph.num_nodes * (scene.x.shape[1] + _COPIES * config.hidden * config.layers)
    needed, free = edges * _BYTES_AN_EDGE + 4 * numbers, scene.place.free_bytes()
    if free is not None and needed > free:
        raise InputError(
            f"gcn: a step over the whole graph needs about {needed / 2**30:,.1f} GiB, "
            f"{free / 2**30:,.1f} GiB are free; batches=mini takes it in parts"
        )


RECIPE = Recipe(Config, model, views)
