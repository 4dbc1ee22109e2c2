"""MG-GCN: fast and effective learning with mix-grained aggregators for training large graph convolutional networks.

Inputs are ``[x | mean of x over N(v)]``, the fine first layer's aggregate computed once; blocks are coarse for the
middle layers and skip for the last, over picks drawn by the paper's Algorithm 1.

Differs from the paper: picks are drawn afresh every epoch by default, which costs little and helps; and the fine mean
counts the node itself, as the authors' code does.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import nn

from mggcn.dataset import Features
from mggcn.kernels.aggregate import neighbour_mean, neighbour_mean_on
from mggcn.kernels.pick import DevicePickTable, Explore, PickTable
from mggcn.methods import paper
from mggcn.methods.network import Network, at_least_one
from mggcn.methods.recipe import GraphView, Recipe
from mggcn.nn import MGGCN
from mggcn.nn.mg_gcn import HEAR_SENDERS_ONLY
from mggcn.sampling import DeviceMixGrainedSampler, MixGrainedSampler, grains
from mggcn.train import View, Views
from mggcn.train.compute import Compute
from mggcn.train.inputs import DenseInputs, dense, inputs_of


@dataclass(frozen=True)
class Config(Network):
    """MG-GCN's settings; each default is the paper's choice or the authors' code's.

    Attributes:
        layers: 1 is fine alone, 2 fine and skip, more put coarse layers between.
        bias: add a bias to each layer; the paper's layers have none.
        conv: what stands above the fine layer: the paper's ``mean``, or another model's convolution: Kipf and Welling's
            ``gcn``, GraphSAGE's ``pool`` and ``lstm``, or graph attention (``gat``). In coarse layers of ``gcn`` and
            ``gat``, which do not look at a node's own row, a node is among those it hears.
        picks: the paper's M, nodes picked per target.
        redraw: draw picks afresh every ``epoch``, or ``once`` before training (the authors' code).
        fine_self: whether the fine mean counts the node itself (the authors' code) or only N(v) (the paper's equation);
            with it Citeseer reaches the paper's figure, without it about a point less.
        skip_self: whether the skip mean counts the target (the paper: S(v) holds it) or only its picks (the authors).
        padding: for a component with fewer nodes than picks: ``target`` counts the target once more for each missing
            pick (the authors' code), ``none`` leaves the set smaller.
        fine: whether the first layer is fine; an ablation makes it coarse.
        skip: whether the last layer is a skip connection; an ablation makes it coarse.
        pick_by: whether neighbours are picked in proportion to ``degree`` (the paper) or ``uniform``ly.
        explore: whose neighbours a pick may be: any member's (``both``, the paper), only the target's (``breadth``) or
            only the last pick's (``depth``).
    """

    bias: bool = False
    conv: Literal["mean", "gcn", "pool", "lstm", "gat"] = "mean"
    picks: int = 5
    redraw: Literal["epoch", "once"] = "epoch"
    fine_self: bool = True
    skip_self: bool = True
    padding: grains.Padding = "target"
    fine: bool = True
    skip: bool = True
    pick_by: Literal["degree", "uniform"] = "degree"
    explore: Explore = "both"

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "picks")


def defaults(dataset: str) -> dict[str, object]:
    """The paper's own settings for a data set, where it names it."""
    found = paper.picks(dataset)
    return {} if found is None else {"picks": found}


def model(config: Config, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
    """The module, its weights drawn from ``generator``."""
    return MGGCN(
        in_channels,
        config.hidden,
        out_channels,
        config.layers,
        has_fine=config.fine,
        conv=config.conv,
        dropout=config.dropout,
        bias=config.bias,
        generator=generator,
    )


def views(config: Config, scene: GraphView) -> Views:
    """Prepare a graph: the fine layer's means and the running sums for the picks."""
    graph, x, place = scene.graph, scene.x, scene.place
    weights = np.ones(graph.num_nodes, np.int64) if config.pick_by == "uniform" else None
    table = PickTable.of(graph, weights=weights, threads=place.threads)
    fixed_key = scene.key.fold("once") if config.redraw == "once" else None
    options = (config.picks, config.layers, config.skip_self, config.padding, fixed_key)
    num_bytes = 4 * (3 * x.shape[0] * x.shape[1] + 4 * graph.num_stored)
    coarse_self = config.conv in HEAR_SENDERS_ONLY
    as_in_paper = config.fine and config.skip and config.explore == "both"
    if as_in_paper and config.conv != "lstm" and place.holds(num_bytes):  # an LSTM's steps have no fixed shape
        on_device = table.on(place.device)
        on_gpu = DeviceMixGrainedSampler(on_device, *options, coarse_self=coarse_self)
        inputs = _inputs_on(on_device, x, config, place)
        return Views(View(inputs, on_gpu), View(inputs, replace(on_gpu, merge_from=None)))
    ablated = (config.fine, config.skip, config.explore)
    means = [neighbour_mean(graph, x, include_self=config.fine_self, threads=place.threads)] if config.fine else []
    sampler = MixGrainedSampler(table, *options, place.threads, coarse_self, *ablated)
    view = View(inputs_of([x, *means], place), sampler)
    return Views(view, view)


def _inputs_on(table: DevicePickTable, x: Features, config: Config, place: Compute) -> DenseInputs:
    own = dense(x).to(place.device)
    means = neighbour_mean_on(table.indptr, table.indices, own, include_self=config.fine_self)
    return DenseInputs((torch.cat([own, means], dim=1).to(place.dtype),))


RECIPE = Recipe(Config, model, views, defaults)
