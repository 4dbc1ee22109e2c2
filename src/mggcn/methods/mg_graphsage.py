"""MG-GraphSAGE: GraphSAGE (Hamilton, Ying and Leskovec) above the fine first layer of MG-GCN.

Inputs are ``[x | mean of x over N(v) and v]``, the first layer's aggregate over whole neighbourhoods computed once;
blocks are GraphSAGE's, neighbours drawn uniformly with a fixed fan-out, for each layer above the first.
"""

from dataclasses import dataclass

import torch
from torch import nn

from mggcn.kernels.aggregate import neighbour_mean
from mggcn.methods.graphsage import GraphSAGE, fanout_per_layer
from mggcn.methods.method import GraphView
from mggcn.training import Views


@dataclass(frozen=True)
class MixGrainedGraphSAGE(GraphSAGE):
    """MG-GraphSAGE: MG-GCN's fine first layer below GraphSAGE's sampled neighbours."""

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
        """A linear layer on the fine inputs, then GraphSAGE's mean aggregators."""
        return self._stack(2 * in_channels, out_channels, generator, linear_first=True, normalise=self.normalise)

    def prepare(self, view: GraphView) -> Views:
        """The first layer's means, and drawn neighbours for the layers above."""
        means = neighbour_mean(view.graph, view.x, include_self=True, threads=view.threads)
        return self._views(view, view.inputs(view.x, means), fanout_per_layer(self.fanouts, self.layers - 1))
