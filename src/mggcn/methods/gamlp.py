"""GAMLP: graph attention multi-layer perceptron (Zhang and others).

Inputs are ``[x | Ax | … | A^K x]``, computed once. A network of its own encodes each hop, h_k = MLP_k(A^k x), and each
node weights its hops: w_k is the softmax over k of σ(s · [h_k | r_k]) with the sigmoid σ and a reference r_k. The sum
of w_k h_k passes one more network, which scores the classes. No blocks.

- ``jk``: the reference of all hops is what a network makes of [h_0 | … | h_K].
- ``recursive``: the reference of hop k is the sum of the hops before it, weighted by the softmax over their scores;
  that of hop 0 is h_0.

Differs from the paper: no labels are inputs, and no *reliable label utilisation* follows. As in the authors' commands
for large graphs, each hop is encoded first; unlike in their code, every layer has a ReLU instead of a learned slope,
and the last network has no connections to its first layer.

Reference: Zhang, Yin, Sheng and others: Graph Attention Multi-Layer Perceptron, KDD 2022.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from mggcn.methods._hops import AttentionOverHops, HopAttention
from mggcn.nn.conv import Linear, dropout
from mggcn.nn.rows import Rows
from mggcn.nn.stack import MLP
from mggcn.training import NaturalNumber


@dataclass(frozen=True)
class GAMLP(AttentionOverHops):
    """GAMLP: a network on the features of all hops, summed with weights of each node's own.

    Attributes:
        attention: what the features of a hop are compared with for their weight: all hops (``jk``) or those before
            (``recursive``).
    """

    hops: NaturalNumber = 5
    attention: Literal["jk", "recursive"] = "jk"

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
        """The networks of the hops and of the reference, the vector of the attention, and the network above."""
        return AttentionNetwork(self, in_channels, out_channels, generator)


class AttentionNetwork(HopAttention):
    """A network on the attention over encoded hops; ``in_channels`` is the width of the rows of all hops."""

    def __init__(self, settings: GAMLP, in_channels: int, out_channels: int, generator: torch.Generator | None) -> None:
        hidden = settings.hidden
        super().__init__(settings, in_channels, hidden, out_channels, generator)
        width = len(self.encoders) * hidden
        self.reference = settings.network(width, hidden, generator) if settings.attention == "jk" else None
        self.score = Linear(2 * hidden, 1, bias=settings.bias, generator=generator)

    def attend(self, h: Tensor, x: Rows) -> Tensor:  # noqa: ARG002
        """[n, hidden_channels] the hops of each node, weighted and summed."""
        scores = self._recursive(h) if self.reference is None else self._jumping(h, self.reference)
        return self._sum(scores, h)

    def _jumping(self, h: Tensor, network: MLP) -> Tensor:
        """[n, hops + 1] the score of each hop beside one reference for all of them."""
        reference = dropout(network(h.flatten(1), ()).relu(), self.dropout, self.training)
        pairs = torch.cat([h, reference.unsqueeze(1).expand_as(h)], dim=2)
        return self._scores(pairs.flatten(0, 1)).view(h.shape[:2])

    def _recursive(self, h: Tensor) -> Tensor:
        """[n, hops + 1] the score of each hop beside the weighted sum of those before it."""
        scores = self._scores(torch.cat([h[:, 0], h[:, 0]], dim=1))
        for hop in range(1, h.shape[1]):
            before = self._sum(scores, h[:, :hop])
            scores = torch.cat([scores, self._scores(torch.cat([h[:, hop], before], dim=1))], dim=1)
        return scores

    def _scores(self, pairs: Tensor) -> Tensor:
        """[n, 1] of [n, 2 · hidden_channels]."""
        return torch.sigmoid(self.score(pairs))

    def _sum(self, scores: Tensor, h: Tensor) -> Tensor:
        """[n, hidden_channels] the sum of [n, hops, hidden_channels], weighted by the softmax of scores [n, hops]."""
        weights = dropout(scores.softmax(dim=1), self.attention_dropout, self.training)
        return (weights.unsqueeze(2) * h).sum(dim=1)
