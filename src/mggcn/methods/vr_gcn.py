"""VR-GCN: stochastic training of graph convolutional networks with variance reduction (Chen, Zhu and Song).

Inputs are Â x with the symmetric normalisation, the first layer's aggregate computed once; blocks hold a few neighbours
of each receiver, drawn uniformly, and each convolution above stores the last hidden row of every node: it sums these
over all neighbours and corrects the sum with the drawn ones. Scores are exact, computed on the whole graph.

Differs from the authors' code: dropout acts only on hidden rows, not on the inputs; the mean in the estimator
is that of the current layer, which for two layers is the paper's; no layer normalisation.

Reference: Chen, Zhu and Song: Stochastic Training of Graph Convolutional Networks with Variance Reduction, ICML 2018.
"""

from dataclasses import dataclass
from functools import partial

import torch
from torch import nn

from mggcn.errors import InputError
from mggcn.methods._network import Network
from mggcn.methods.method import GraphView
from mggcn.nn.history import HistoryConv
from mggcn.sampling.adjacency import propagated, propagation
from mggcn.sampling.history import HistorySampler
from mggcn.training import Count, View, Views


@dataclass(frozen=True)
class VRGCN(Network):
    """VR-GCN: graph convolutions over a few sampled neighbours, corrected by the history of all.

    Attributes:
        layers: at least 2; the first needs no neighbours.
        fanout: neighbours drawn per receiver, the paper's D; a node counts as its own neighbour.
    """

    fanout: Count = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layers < 2:
            raise InputError(f"layers: {self.layers} is less than 2")

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
        """A linear layer on aggregated inputs, then convolutions with a history, which apply the dropout themselves."""
        conv = partial(HistoryConv, dropout=self.dropout)
        return self._stack(conv, in_channels, out_channels, generator, linear_first=True, dropout=0.0)

    def prepare(self, view: GraphView) -> Views:
        """The normalised adjacency and the aggregated features."""
        adjacency = propagation(view.graph)
        inputs = view.inputs(propagated(adjacency, view.x, view.threads))
        sampler = HistorySampler(adjacency, self.layers - 1, self.fanout)
        return Views(View(inputs, sampler), View(inputs, view.whole_graph(adjacency, self.layers - 1)))
