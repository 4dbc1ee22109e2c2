"""MG-FastGCN and MG-GraphSAGE: the fine first layer of MG-GCN below the sampled layers of other methods.

Inputs are ``[x | mean of x over N(v) and v]``, computed once, so that the fine layer keeps each node's own features
beside its neighbourhood's; blocks are one for every layer above: FastGCN's layer samples, with scores on the whole
graph, or GraphSAGE's neighbours, drawn uniformly with a fixed fan-out.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from mggcn.graph import EdgePart, EdgeSchema
from mggcn.kernels.aggregate import neighbour_mean
from mggcn.methods.graphsage import GraphSAGE, fanout_per_layer
from mggcn.methods.method import WEIGHTS, GraphView, Network
from mggcn.sampling.adjacency import propagation
from mggcn.sampling.layerwise import Candidates, FastGCNSampler
from mggcn.training import Count, Views


@dataclass(frozen=True)
class MixGrainedFastGCN(Network):
    """MG-FastGCN: MG-GCN's fine first layer below FastGCN's sampled layers.

    Attributes:
        samples: nodes drawn per layer.
        candidates: draw from ``all`` nodes, or from the ``neighbours`` of the layer above.
    """

    reads_edges: ClassVar[frozenset[EdgePart]] = WEIGHTS

    samples: Count = 400
    candidates: Candidates = "neighbours"

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
        """A linear layer on the fine inputs, then one graph convolution per layer."""
        return self._stack(in_channels, out_channels, generator, linear_first=True)

    def input_width(self, num_features: int, edges: EdgeSchema) -> int:  # noqa: ARG002
        """The features and their means."""
        return 2 * num_features

    def prepare(self, view: GraphView) -> Views:
        """The fine layer's means and the normalised adjacency."""
        means = neighbour_mean(view.graph, view.x, include_self=True, threads=view.threads)
        adjacency = propagation(view.graph)
        sampler = FastGCNSampler(adjacency, self.layers - 1, self.samples, self.candidates)
        return view.sampled(view.inputs(view.x, means), sampler, adjacency, self.layers - 1)


@dataclass(frozen=True)
class MixGrainedGraphSAGE(GraphSAGE):
    """MG-GraphSAGE: MG-GCN's fine first layer below GraphSAGE's sampled neighbours."""

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
        """A linear layer on the fine inputs, then GraphSAGE's mean aggregators."""
        return self._stack(in_channels, out_channels, generator, linear_first=True, normalise=self.normalise)

    def input_width(self, num_features: int, edges: EdgeSchema) -> int:  # noqa: ARG002
        """The features and their means."""
        return 2 * num_features

    def prepare(self, view: GraphView) -> Views:
        """The first layer's means, and drawn neighbours for the layers above."""
        means = neighbour_mean(view.graph, view.x, include_self=True, threads=view.threads)
        return self._views(view, view.inputs(view.x, means), fanout_per_layer(self.fanouts, self.layers - 1))
