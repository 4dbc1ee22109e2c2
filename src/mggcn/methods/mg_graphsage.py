"""MG-GraphSAGE: GraphSAGE (Hamilton, Ying and Leskovec) above the fine first layer of MG-GCN.

Inputs are ``[x | mean of x over N(v) and v]``, the first layer's aggregate over whole neighbourhoods computed once;
blocks are GraphSAGE's own, neighbours drawn uniformly with a fixed fan-out for each layer above: one block fewer.
"""

from itertools import pairwise

import torch
from torch import nn

from mggcn.kernels.aggregate import neighbour_mean
from mggcn.methods.graphsage import Config, defaults, mean_operator, per_layer
from mggcn.methods.recipe import GraphView, Recipe
from mggcn.nn import Linear, MeanConv, Stack
from mggcn.sampling import WholeGraphSampler
from mggcn.sampling.neighbor import NeighborSampler
from mggcn.train import View, Views
from mggcn.train.inputs import inputs_of


def model(config: Config, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
    """The module, its weights drawn from ``generator``."""
    widths = config.widths(2 * in_channels, out_channels)
    first = Linear(widths[0], widths[1], bias=config.bias, generator=generator)
    convs = [MeanConv(a, b, bias=config.bias, generator=generator) for a, b in pairwise(widths[1:])]
    return Stack(convs, first=first, dropout=config.dropout, normalise=config.normalise)


def views(config: Config, scene: GraphView) -> Views:
    """Prepare a graph: the first layer's means."""
    graph, place, layers = scene.graph, scene.place, config.layers - 1
    inputs = inputs_of([scene.x, neighbour_mean(graph, scene.x, include_self=True, threads=place.threads)], place)
    drawn = View(inputs, NeighborSampler(graph, per_layer(config.fanouts, layers), threads=place.threads))
    if not config.full_eval:
        return Views(drawn, drawn)
    return Views(drawn, View(inputs, WholeGraphSampler(mean_operator(graph, include_self=False), layers)))


RECIPE = Recipe(Config, model, views, defaults)
