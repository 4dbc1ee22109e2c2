"""SAGN: scalable and adaptive graph neural networks (Sun and others).

Inputs are ``[x | Ax | … | A^K x]``, computed once. A network of its own encodes each hop, h_k = MLP_k(A^k x), and each
node weights its hops: a_k is the softmax over k of LeakyReLU(q · h_0 + p · h_k), for each head. The sum of a_k h_k and
a linear map of x pass a ReLU and dropout, and one more network scores the classes. No blocks.

Differs from the paper: no labels are inputs, and no self-training follows, which together are its *self-label
enhancement*; no batch normalisation. As in the authors' code, the heads are averaged before the last network.

Reference: Sun, Gu and Hu: Scalable and Adaptive Graph Neural Networks with Self-Label-Enhanced Training, 2021.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from mggcn.block import Block
from mggcn.graph import EdgePart, EdgeSchema
from mggcn.methods.method import WEIGHTS, GraphView, Method
from mggcn.methods.sign import columns
from mggcn.nn.conv import Linear, dropout
from mggcn.nn.rows import Rows
from mggcn.nn.stack import MLP
from mggcn.sampling.adjacency import Normalisation, powers
from mggcn.training import Count, NaturalNumber, Share, Views

_SLOPE = 0.2  # of the leaky ReLU of attention scores


@dataclass(frozen=True)
class SAGN(Method):
    """SAGN: a network for each hop's features, and attention over the hops.

    Attributes:
        hops: the highest power K; 0 uses only the node's own features.
        hidden: width of a head.
        heads: the number of heads, which are averaged.
        layers: of each network: those of the hops, and the one that scores the classes.
        dropout: share of hidden units dropped in training.
        attention_dropout: share of the hops' weights dropped in training.
        bias: add a bias to each layer; the linear map of x has none.
        norm: what A is, with self-loops: ``row``, the mean over a node and its neighbours, or ``symmetric``.
    """

    reads_edges: ClassVar[frozenset[EdgePart]] = WEIGHTS
    linear_in_features: ClassVar[bool] = True

    hops: NaturalNumber = 3
    hidden: Count = 64
    heads: Count = 1
    layers: Count = 2
    dropout: Share = 0.5
    attention_dropout: Share = 0.0
    bias: bool = True
    norm: Normalisation = "row"

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
        """The networks of the hops, the vectors of the attention, and the network above."""
        return AdaptiveNetwork(self, in_channels, out_channels, generator)

    def input_width(self, num_features: int, edges: EdgeSchema) -> int:  # noqa: ARG002
        """The features and their averages of each hop."""
        return (1 + self.hops) * num_features

    def prepare(self, view: GraphView) -> Views:
        """The features of every hop."""
        return Views.same(view.rows(*powers(view.graph, view.x, self.hops, view.threads, self.norm)))


class AdaptiveNetwork(MLP):
    """A network on the attention over encoded hops; ``in_channels`` is the width of the rows of all hops."""

    def __init__(
        self, settings: SAGN, in_channels: int, out_channels: int, generator: torch.Generator | None = None
    ) -> None:
        hops, hidden, heads = settings.hops + 1, settings.hidden, settings.heads
        width, inner = in_channels // hops, [hidden] * (settings.layers - 1)
        network = partial(MLP, dropout=settings.dropout, bias=settings.bias, generator=generator)
        super().__init__(
            [hidden, *inner, out_channels], dropout=settings.dropout, bias=settings.bias, generator=generator
        )
        self.in_channels, self.heads, self.attention_dropout = width, heads, settings.attention_dropout
        self.encoders = nn.ModuleList(network([width, *inner, heads * hidden]) for _ in range(hops))
        self.own = Linear(width, heads * hidden, generator=generator)
        self.query, self.key = (nn.Parameter(torch.empty(heads, hidden)) for _ in range(2))
        for vectors in (self.query, self.key):
            nn.init.xavier_uniform_(vectors, generator=generator)

    def forward(self, x: Rows, blocks: Sequence[Block]) -> Tensor:
        """[n, in_channels] to [n, out_channels]."""
        return super().forward(self.attended(x), blocks)

    def hidden(self, x: Rows, blocks: Sequence[Block]) -> Tensor:
        """[n, hidden_channels] what the last layer multiplies by its weights."""
        return super().hidden(self.attended(x), blocks)

    def attended(self, x: Rows) -> Tensor:
        """[n, hidden_channels] the hops of each node, weighted and summed, averaged over heads."""
        parts = columns(x, self.in_channels, len(self.encoders))
        encoded = torch.stack([encode(part, ()) for encode, part in zip(self.encoders, parts, strict=True)], dim=1)
        h = encoded.view(*encoded.shape[:2], self.heads, -1)  # [n, hops + 1, heads, hidden]
        scores = functional.leaky_relu((h * self.key).sum(dim=3) + (h[:, :1] * self.query).sum(dim=3), _SLOPE)
        weights = scores.softmax(dim=1)
        weights = dropout(weights.flatten(1), self.attention_dropout, self.training).view_as(scores)
        total = (weights.unsqueeze(3) * h).sum(dim=1) + self.own(parts[0]).view_as(h[:, 0])
        return dropout(total.mean(dim=1).relu(), self.dropout, self.training)
