"""SGC: simplifying graph convolutional networks (Wu and others).

Inputs are Â^k x with the symmetric normalisation of the weights of edges, computed once; the model is a logistic
regression; no blocks.

Reference: Wu, Zhang, de Souza, Fifty, Yu and Weinberger: Simplifying Graph Convolutional Networks, ICML 2019.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from mggcn.graph import EdgePart
from mggcn.methods.method import WEIGHTS, GraphView, Method
from mggcn.nn.stack import MLP
from mggcn.sampling.adjacency import powers
from mggcn.training import Count, Views


@dataclass(frozen=True)
class SGC(Method):
    """SGC: a logistic regression on features averaged k times over neighbours.

    Attributes:
        hops: the power k.
        bias: add a bias to the regression.
    """

    reads_edges: ClassVar[frozenset[EdgePart]] = WEIGHTS
    linear_in_features: ClassVar[bool] = True

    hops: Count = 2
    bias: bool = True

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
        """A logistic regression."""
        return MLP([in_channels, out_channels], bias=self.bias, generator=generator)

    def prepare(self, view: GraphView) -> Views:
        """The features, averaged k times over neighbours."""
        return Views.same(view.rows(powers(view.graph, view.x, self.hops, view.threads)[-1]))
