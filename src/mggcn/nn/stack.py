"""A stack of convolutions, one per block, and plain layers over rows without blocks."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from mggcn.block import Block
from mggcn.nn.conv import Layer, Linear
from mggcn.nn.dropout import dropout
from mggcn.nn.rows import RepeatedRows, Rows, to_dense


class Stack(Layer, accepts_rows=True):
    """Runs one convolution per block, with a leaky ReLU and dropout between layers.

    Args:
        convs: modules called as ``conv(x, block)``; :mod:`mggcn.nn.conv` lists what they may declare.
        first: a layer before the convolutions, for inputs that are aggregated already.
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

    @property
    def capturable(self) -> bool:
        """Whether a GPU can record and replay a step: the shapes of all convolutions depend only on the blocks."""
        return all(isinstance(conv, Layer) and conv.capturable for conv in self.convs)

    def forward(self, x: Rows, blocks: Sequence[Block]) -> Tensor:
        """Score targets.

        Args:
            x: [n, in_channels] input rows.
            blocks: one per convolution, the lowest first.

        Returns:
            [b, out_channels] class scores, before softmax.
        """
        h = self._lowest(x)
        for conv, block in zip(self.convs, blocks, strict=True):
            h, slope = self._between(h, is_input=h is x)
            h = _convolve(conv, h, block, slope)
        return to_dense(h)

    def hidden(self, x: Rows, blocks: Sequence[Block]) -> Tensor:
        """[b, channels] what the last layer multiplies by its weights, or the target's row where it does not say.

        A convolution says so by a method ``hidden(x, block)``, with ``x`` after the activation.
        """
        if not len(self.convs):
            return to_dense(x)
        h = self._lowest(x)
        *below, (last, top) = zip(self.convs, blocks, strict=True)
        for conv, block in below:
            h, slope = self._between(h, is_input=h is x)
            h = _convolve(conv, h, block, slope)
        h, slope = self._between(h, is_input=h is x)
        rows = functional.leaky_relu(to_dense(h), slope)
        hidden: Tensor = last.hidden(rows, top) if hasattr(last, "hidden") else rows.index_select(0, top.root)  # type: ignore[operator]
        return hidden

    def _lowest(self, x: Rows) -> Rows:
        """The first layer, if any; repeated rows are computed once, unless dropout makes their copies differ."""
        if self.first is None:
            return x
        if isinstance(x, RepeatedRows) and not (self.training and self.dropout):
            return RepeatedRows(self.first(x.rows), x.index, x.repeats)
        rows: Rows = self.first(x)
        return rows

    def _between(self, h: Rows, *, is_input: bool) -> tuple[Rows, float]:
        """The rows for the next convolution, and the slope of the leaky ReLU that it still has to apply."""
        if is_input:
            return h, 1.0
        slope = self.negative_slope
        if self.normalise:
            h, slope = functional.normalize(functional.leaky_relu(to_dense(h), slope), dim=1), 1.0
        if isinstance(h, Tensor):
            h = dropout(h, self.dropout, self.training)
        return h, slope


def _convolve(conv: nn.Module, h: Rows, block: Block, slope: float) -> Tensor:
    """Apply the activation of the layer below, then the convolution."""
    if isinstance(conv, Layer) and conv.fuses_activation:
        out: Tensor = conv(h, block, negative_slope=slope)
    else:
        h = h if slope == 1.0 else functional.leaky_relu(to_dense(h), slope)
        out = conv(h if isinstance(conv, Layer) and conv.accepts_rows else to_dense(h), block)
    return out


class MLP(Layer, accepts_rows=True, capturable=True):
    """Linear layers with a ReLU and dropout between them; uses no blocks.

    Args:
        widths: of the input, each hidden layer and the output.
        dropout: share of hidden units dropped in training.
        bias: add a bias to each layer.
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
        scores: Tensor = self.layers[-1](self._below(x))
        return scores

    def hidden(self, x: Rows, blocks: Sequence[Block]) -> Tensor:  # noqa: ARG002
        """[n, widths[-2]] what the last layer multiplies by its weights."""
        return to_dense(self._below(x))

    def _below(self, x: Rows) -> Rows:
        h = x
        for layer in self.layers[:-1]:
            h = dropout(layer(h).relu(), self.dropout, self.training)
        return h
