"""MG-GraphSAGE: GraphSAGE (Hamilton, Ying and Leskovec) above the fine first layer of MG-GCN.

Inputs are ``[x | mean of x over N(v) and v]``, the first layer's aggregate over whole neighbourhoods computed once;
blocks are GraphSAGE's, neighbours drawn uniformly with a fixed fan-out, for each layer above the first.
"""

from dataclasses import dataclass

import torch
from torch import nn

from mggcn.kernels.aggregate import neighbour_mean
from mggcn.methods.graphsage import GraphSAGE, fanout_per_layer, mean_operator
from mggcn.methods.method import GraphView
from mggcn.nn.conv import MeanConv
from mggcn.sampling.neighbor import NeighborSampler
from mggcn.training import View, Views


@dataclass(frozen=True)
class MixGrainedGraphSAGE(GraphSAGE):
    """MG-GraphSAGE: MG-GCN's fine first layer below GraphSAGE's sampled neighbours."""

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
        """A linear layer on the fine inputs, then GraphSAGE's mean aggregators."""
        return self._stack(
            MeanConv, 2 * in_channels, out_channels, generator, linear_first=True, normalise=self.normalise
        )

    def prepare(self, view: GraphView) -> Views:
        """The first layer's means, and drawn neighbours for the layers above."""
        graph, layers = view.graph, self.layers - 1
        inputs = view.inputs(view.x, neighbour_mean(graph, view.x, include_self=True, threads=view.threads))
        fanouts = fanout_per_layer(self.fanouts, layers)
        drawn = View(inputs, NeighborSampler(graph, fanouts, threads=view.threads, names=view.names))
        if not self.full_eval:
            return Views.same(drawn)
        return Views(drawn, View(inputs, view.whole_graph(mean_operator(graph, include_self=False), layers)))
