"""MLP: a network on each node's own features that ignores the graph; a baseline for graph methods."""

from dataclasses import dataclass

import torch
from torch import nn

from mggcn.methods.method import GraphView, Network
from mggcn.nn.stack import MLP
from mggcn.training import Views


@dataclass(frozen=True)
class FeatureMLP(Network):
    """MLP: a network on the features of each node, without the graph."""

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
        """Linear layers with a ReLU between them."""
        widths = self.widths(in_channels, out_channels)
        return MLP(widths, dropout=self.dropout, bias=self.bias, generator=generator)

    def prepare(self, view: GraphView) -> Views:
        """The features alone."""
        return Views.same(view.rows(view.x))
