"""FastGCN: fast learning with graph convolutional networks via importance sampling (Chen, Ma and Xiao).

Inputs are Â x, the lowest layer's aggregate computed once as in the authors' code; blocks are one layer sample shared
by the batch, drawn in proportion to |Â(:, u)|², for every layer above. Scores are computed on the whole graph. Â is
the symmetric normalisation of the weights of edges.

Differs from the paper: nodes are drawn among the neighbours of the layer above by default, as in the authors' code,
with the probabilities of that draw (their code keeps the factors of the whole graph, which differ by a constant, and
draws without replacement).

Reference: Chen, Ma and Xiao: FastGCN: Fast Learning with Graph Convolutional Networks via Importance Sampling, ICLR
2018.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from mggcn.graph import EdgePart
from mggcn.methods.method import WEIGHTS, GraphView, Network
from mggcn.sampling.adjacency import propagated, propagation
from mggcn.sampling.layerwise import Candidates, FastGCNSampler
from mggcn.training import Count, Views


@dataclass(frozen=True)
class FastGCN(Network):
    """FastGCN: graph convolutions over layers sampled by importance.

    Attributes:
        samples: nodes drawn per layer.
        candidates: draw from ``all`` nodes (the paper's law), or from the ``neighbours`` of the layer above (the
            authors' code).
        precompute: aggregate the features once before training, so that the lowest layer is exact and not sampled.
    """

    reads_edges: ClassVar[frozenset[EdgePart]] = WEIGHTS

    samples: Count = 400
    candidates: Candidates = "neighbours"
    precompute: bool = True

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
        """One graph convolution per layer; a linear first layer if the inputs are aggregated already."""
        return self._stack(in_channels, out_channels, generator, linear_first=self.precompute)

    def prepare(self, view: GraphView) -> Views:
        """The normalised adjacency and the aggregated features."""
        adjacency = propagation(view.graph)
        x = propagated(adjacency, view.x, view.threads) if self.precompute else view.x
        blocks = self.layers - int(self.precompute)
        sampler = FastGCNSampler(adjacency, blocks, self.samples, self.candidates)
        return view.sampled(view.inputs(x), sampler, adjacency, blocks)
