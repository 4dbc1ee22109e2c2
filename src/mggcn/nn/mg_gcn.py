"""MG-GCN as an ordinary module: a fine first layer on prepared inputs, then one convolution per block."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import torch
from torch import nn

from mggcn.nn.attention import GATConv
from mggcn.nn.conv import GCNConv, Linear, MeanConv
from mggcn.nn.lstm import LSTMConv
from mggcn.nn.pool import PoolConv
from mggcn.nn.stack import Stack

CONVS: dict[str, Callable[..., nn.Module]] = {
    "mean": MeanConv,
    "gcn": GCNConv,
    "pool": PoolConv,
    "lstm": LSTMConv,
    "gat": GATConv,
}
"""The convolutions that can follow the fine layer, by name."""

WITHOUT_ROOT = frozenset({"gcn", "gat"})
"""The convolutions that do not use a receiver's own row, so that the block must list it among the senders."""


class MGGCN(Stack):
    """The mix-grained GCN of the paper.

    The fine first layer has no parameters below it, so its aggregate is a constant of the data set: the module takes
    ``[x | mean of x over N(v)]``, or more hops, as its input rows, and one block per layer after the first.

    Args:
        in_channels: width of x; input rows are 1 + ``hops`` times as wide.
        hidden_channels: width of every hidden layer.
        out_channels: number of classes.
        num_layers: 1 is fine only, 2 fine and skip, more add coarse layers between them.
        hops: how often the features are averaged over neighbours for the input rows.
        has_fine: if False, as an ablation, input rows are x only and the first layer is a convolution too.
        conv: the convolution above the fine layer: a name of :data:`CONVS`, the paper's is ``mean``; or a function of
            (in_channels, out_channels), which receives neither ``bias`` nor ``generator``.
        dropout: share of hidden units dropped in training; the paper has none.
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
        hops: int = 1,
        has_fine: bool = True,
        conv: str | Callable[[int, int], nn.Module] = "mean",
        dropout: float = 0.0,
        negative_slope: float = 0.01,
        bias: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        first = Linear((1 + hops) * in_channels, widths[1], bias=bias, generator=generator) if has_fine else None
        above = widths[1:] if has_fine else widths
        create = conv if callable(conv) else partial(CONVS[conv], bias=bias, generator=generator)
        convs = [create(a, b) for a, b in pairwise(above)]
        super().__init__(convs, first=first, dropout=dropout, negative_slope=negative_slope)
