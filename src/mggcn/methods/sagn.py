"""SAGN: scalable and adaptive graph neural networks (Sun and others).

Inputs are ``[x | Ax | … | A^K x]``, computed once. A network of its own encodes each hop, h_k = MLP_k(A^k x), and each
node weights its hops: a_k is the softmax over k of LeakyReLU(q · h_0 + p · h_k), for each head. The sum of a_k h_k and
a linear map of x pass a ReLU and dropout, and one more network scores the classes. No blocks.

Differs from the paper: no labels are inputs, and no self-training follows, which together are its *self-label
enhancement*; no batch normalisation. As in the authors' code, the heads are averaged before the last network.

Reference: Sun, Gu and Hu: Scalable and Adaptive Graph Neural Networks with Self-Label-Enhanced Training, 2021.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from mggcn.methods._hops import AttentionOverHops, HopAttention
from mggcn.nn.conv import Linear, dropout
from mggcn.nn.rows import Rows
from mggcn.sampling.adjacency import Normalisation
from mggcn.training import Count, NaturalNumber

_SLOPE = 0.2  # of the leaky ReLU of attention scores


@dataclass(frozen=True)
class SAGN(AttentionOverHops):
    """SAGN: a network for each hop's features, and attention over the hops.

    Attributes:
        heads: the number of heads, each ``hidden`` wide, which are averaged.
        bias: add a bias to each layer; the linear map of x has none.
    """

    hops: NaturalNumber = 3
    norm: Normalisation = "row"
    heads: Count = 1

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
        """The networks of the hops, the vectors of the attention, and the network above."""
        return AdaptiveNetwork(self, in_channels, out_channels, generator)


class AdaptiveNetwork(HopAttention):
    """A network on the attention over encoded hops; ``in_channels`` is the width of the rows of all hops."""

    def __init__(self, settings: SAGN, in_channels: int, out_channels: int, generator: torch.Generator | None) -> None:
        heads, hidden = settings.heads, settings.hidden
        super().__init__(settings, in_channels, heads * hidden, out_channels, generator)
        self.own = Linear(self.in_channels, heads * hidden, generator=generator)
        self.query, self.key = (nn.Parameter(torch.empty(heads, hidden)) for _ in range(2))
        for vectors in (self.query, self.key):
            nn.init.xavier_uniform_(vectors, generator=generator)

    def attend(self, h: Tensor, x: Rows) -> Tensor:
        """[n, hidden_channels] the hops of each node, weighted and summed, averaged over heads."""
        h = h.view(*h.shape[:2], *self.query.shape)  # [n, hops + 1, heads, hidden]
        scores = functional.leaky_relu((h * self.key).sum(dim=3) + (h[:, :1] * self.query).sum(dim=3), _SLOPE)
        weights = scores.softmax(dim=1)
        weights = dropout(weights.flatten(1), self.attention_dropout, self.training).view_as(scores)
        total = (weights.unsqueeze(3) * h).sum(dim=1) + self.own(x).view_as(h[:, 0])
        return dropout(total.mean(dim=1).relu(), self.dropout, self.training)
