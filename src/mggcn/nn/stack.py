"""A stack of convolutions, one per block, and plain layers over rows without blocks."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from mggcn.block import Block
from mggcn.nn.conv import Linear
from mggcn.nn.rows import RepeatedRows, Rows, to_dense


class Stack(nn.Module):
    """Runs one convolution per block, with a leaky ReLU and dropout between layers.

    Args:
        convs: each takes rows, a block and the slope of the activation of the rows, 1 for input rows.
        first: a layer of its own below the convolutions, for inputs that already hold an aggregate.
        dropout: share of hidden units dropped in training.
        negative_slope: of the leaky ReLU; 0 is the ReLU.
        normalise: divide hidden rows by their Euclidean length after the activation, as GraphSAGE's Algorithm 1 does.
    """

    def __init__(
        self,
        convs: Iterable[nn.Module],
        *,
        first: nn.Module | None = None,
        dropout: float = 0.0,
        negative_slope: float = 0.0,
        normalise: bool = False,
    ) -> None:
        super().__init__()
        self.first = first
        self.convs = nn.ModuleList(convs)
        self.dropout = dropout
        self.negative_slope = negative_slope
        self.normalise = normalise

    def forward(self, x: Rows, blocks: Sequence[Block]) -> Tensor:
        """Score targets.

        Args:
            x: [n, in_channels] input rows.
            blocks: one per convolution, the lowest first.

        Returns:
            [b, out_channels] class scores, before softmax.
        """
        h: Rows = x if self.first is None else self._lowest(x)
        for conv, block in zip(self.convs, blocks, strict=True):
            slope = 1.0 if h is x else self.negative_slope
            if self.normalise and h is not x:
                h, slope = functional.normalize(functional.leaky_relu(to_dense(h), slope), dim=1), 1.0
            if isinstance(h, Tensor) and h is not x:
                h = functional.dropout(h, self.dropout, self.training)
            h = conv(h, block, slope)
        return to_dense(h)

    def _lowest(self, x: Rows) -> Rows:
        """The first layer; of rows that repeat only the distinct ones, where dropout does not tell them apart."""
        if isinstance(x, RepeatedRows) and x.repeats is not None and not (self.training and self.dropout):
            return RepeatedRows(self.first(x.rows), x.place, x.repeats)  # type: ignore[misc]
        return self.first(x)  # type: ignore[misc, no-any-return]


class MLP(nn.Module):
    """Linear layers with a ReLU and dropout between them; reads no blocks.

    Args:
        widths: of the input, each hidden layer and the output.
        dropout: share of hidden units dropped in training.
        bias: whether the layers have one.
        generator: of the initial weights; torch's global one when None.
    """

    def __init__(
        self,
        widths: Sequence[int],
        *,
        dropout: float = 0.0,
        bias: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Linear(a, b, bias=bias, generator=generator) for a, b in pairwise(widths))
        self.dropout = dropout

    def forward(self, x: Rows, blocks: Sequence[Block]) -> Tensor:  # noqa: ARG002
        """[n, widths[0]] to [n, widths[-1]]."""
        h: Tensor = self.layers[0](x)
        for layer in self.layers[1:]:
            h = layer(functional.dropout(h.relu(), self.dropout, self.training))
        return h
