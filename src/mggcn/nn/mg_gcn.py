"""MG-GCN as an ordinary module: a fine first layer on prepared inputs, then one convolution per block."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from mggcn.block import Block
from mggcn.inputs import Rows
from mggcn.nn.conv import MeanConv, Project


class MGGCN(nn.Module):
    """The mix-grained GCN of the paper.

    The fine first layer has no parameters below it, so its aggregate is a constant of the data set: the module takes
    ``[x | mean of x over N(v)]`` as its input rows.

    Args:
        in_channels: width of x; input rows are twice as wide.
        hidden_channels: width of every hidden layer.
        out_channels: number of classes.
        num_layers: 1 is fine alone, 2 fine and skip, more put coarse layers between.
        dropout: share of hidden units dropped in training; the paper drops none.
        negative_slope: of LeakyReLU.
        bias: the paper's layers have none.
        generator: of the initial weights; torch's global one when None.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        *,
        dropout: float = 0.0,
        negative_slope: float = 0.01,
        bias: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        widths = [2 * in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        self.fine = Project(widths[0], widths[1], bias=bias, generator=generator)
        self.convs = nn.ModuleList(MeanConv(a, b, bias=bias, generator=generator) for a, b in pairwise(widths[1:]))
        self.dropout = dropout
        self.negative_slope = negative_slope

    def forward(self, x: Rows, blocks: Sequence[Block]) -> Tensor:
        """Score targets.

        Args:
            x: [n, 2 · in_channels] input rows.
            blocks: one per layer after the first, the lowest first.

        Returns:
            [b, out_channels] class scores, before softmax.
        """
        h: Tensor = self.fine(x)
        for conv, block in zip(self.convs, blocks, strict=True):
            h = conv(functional.dropout(h, self.dropout, self.training), block, self.negative_slope)
        return h
