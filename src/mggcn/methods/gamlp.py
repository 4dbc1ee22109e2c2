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

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from mggcn.block import Block
from mggcn.graph import EdgePart, EdgeSchema
from mggcn.methods.method import WEIGHTS, GraphView, Method
from mggcn.methods.sign import columns
from mggcn.nn.conv import Linear, dropout
from mggcn.nn.rows import Rows
from mggcn.nn.stack import MLP
from mggcn.sampling.adjacency import Normalisation, powers
from mggcn.training import Count, NaturalNumber, Share, Views


@dataclass(frozen=True)
class GAMLP(Method):
    """GAMLP: a network on the features of all hops, summed with weights of each node's own.

    Attributes:
        hops: the highest power K; 0 uses only the node's own features.
        attention: what the features of a hop are compared with for their weight: all hops (``jk``) or those before
            (``recursive``).
        hidden: width of every hidden layer.
        layers: of each network: those of the hops, of the reference, and the one that scores the classes.
        dropout: share of hidden units dropped in training.
        attention_dropout: share of the hops' weights dropped in training.
        bias: add a bias to each layer.
        norm: what A is, with self-loops: ``symmetric``, or ``row``, the mean over a node and its neighbours.
    """

    reads_edges: ClassVar[frozenset[EdgePart]] = WEIGHTS
    linear_in_features: ClassVar[bool] = True

    hops: NaturalNumber = 5
    attention: Literal["jk", "recursive"] = "jk"
    hidden: Count = 64
    layers: Count = 2
    dropout: Share = 0.5
    attention_dropout: Share = 0.0
    bias: bool = True
    norm: Normalisation = "symmetric"

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
        """The networks of the hops and of the reference, the vector of the attention, and the network above."""
        return AttentionNetwork(self, in_channels, out_channels, generator)

    def input_width(self, num_features: int, edges: EdgeSchema) -> int:  # noqa: ARG002
        """The features and their averages of each hop."""
        return (1 + self.hops) * num_features

    def prepare(self, view: GraphView) -> Views:
        """The features of every hop."""
        return Views.same(view.rows(*powers(view.graph, view.x, self.hops, view.threads, self.norm)))


class AttentionNetwork(MLP):
    """A network on the attention over encoded hops; ``in_channels`` is the width of the rows of all hops."""

    def __init__(
        self, settings: GAMLP, in_channels: int, out_channels: int, generator: torch.Generator | None = None
    ) -> None:
        hops, hidden = settings.hops + 1, settings.hidden
        width, inner = in_channels // hops, [hidden] * (settings.layers - 1)
        network = partial(MLP, dropout=settings.dropout, bias=settings.bias, generator=generator)
        super().__init__(
            [hidden, *inner, out_channels], dropout=settings.dropout, bias=settings.bias, generator=generator
        )
        self.in_channels, self.attention_dropout = width, settings.attention_dropout
        self.encoders = nn.ModuleList(network([width, *inner, hidden]) for _ in range(hops))
        self.reference = network([hops * hidden, *inner, hidden]) if settings.attention == "jk" else None
        self.score = Linear(2 * hidden, 1, bias=settings.bias, generator=generator)

    def forward(self, x: Rows, blocks: Sequence[Block]) -> Tensor:
        """[n, in_channels] to [n, out_channels]."""
        return super().forward(self.attended(x), blocks)

    def hidden(self, x: Rows, blocks: Sequence[Block]) -> Tensor:
        """[n, hidden_channels] what the last layer multiplies by its weights."""
        return super().hidden(self.attended(x), blocks)

    def attended(self, x: Rows) -> Tensor:
        """[n, hidden_channels] the hops of each node, weighted and summed."""
        parts = columns(x, self.in_channels, len(self.encoders))
        h = torch.stack([encode(part, ()) for encode, part in zip(self.encoders, parts, strict=True)], dim=1)
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
