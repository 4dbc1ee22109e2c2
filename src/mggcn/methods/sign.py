"""SIGN: scalable inception graph neural networks (Frasca and others).

Inputs are ``[x | Âx | … | Â^r x]`` with the symmetric normalisation of the weights of edges, computed once. Each hop
has its own linear map; the concatenated results pass a ReLU and dropout, and one more linear map scores the classes. No
blocks.

Differs from the paper: the only operators are powers of Â, not personalised PageRank or triangles; a ReLU instead of
the learned slope of the authors' code, and no batch normalisation.

Reference: Frasca, Rossi, Eynard, Chamberlain, Bronstein and Monti: SIGN: Scalable Inception Graph Neural Networks,
2020.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mggcn.block import Block
from mggcn.methods._hops import OverHops, columns
from mggcn.nn.conv import Layer, Linear, dropout
from mggcn.nn.rows import Rows
from mggcn.training import Count, NaturalNumber, Share


@dataclass(frozen=True)
class SIGN(OverHops):
    """SIGN: a network on features averaged 0 to r times over neighbours.

    Attributes:
        hidden: width of each hop's map.
        dropout: share of hidden units dropped in training.
        bias: add a bias to each map.
    """

    hops: NaturalNumber = 2
    hidden: Count = 64
    dropout: Share = 0.5
    bias: bool = True

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
        """One linear map for each hop, and one over all of them."""
        return HopNetwork(self, in_channels, out_channels, generator)


class HopNetwork(Layer, accepts_rows=True, capturable=True):
    """One linear map for each hop, and one over all of them; ``in_channels`` is the width of the rows of all hops."""

    def __init__(
        self, settings: SIGN, in_channels: int, out_channels: int, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.in_channels, self.dropout = in_channels // (settings.hops + 1), settings.dropout
        hops, hidden, bias = settings.hops + 1, settings.hidden, settings.bias
        self.hops = nn.ModuleList(Linear(self.in_channels, hidden, bias=bias, generator=generator) for _ in range(hops))
        self.last = Linear(hops * hidden, out_channels, bias=bias, generator=generator)

    def forward(self, x: Rows, blocks: Sequence[Block]) -> Tensor:
        """[n, in_channels] to [n, out_channels]."""
        scores: Tensor = self.last(self.hidden(x, blocks))
        return scores

    def hidden(self, x: Rows, blocks: Sequence[Block]) -> Tensor:  # noqa: ARG002
        """[n, (hops + 1) · hidden_channels] what the last layer multiplies by its weights."""
        parts = columns(x, self.in_channels, len(self.hops))
        h = torch.cat([project(part) for project, part in zip(self.hops, parts, strict=True)], dim=1)
        return dropout(h.relu(), self.dropout, self.training)
