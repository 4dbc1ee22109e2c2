"""A stack of convolutions, one per block; plain layers over rows without blocks; and MG-GCN as an ordinary module."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from mggcn.block import Block
from mggcn.nn.conv import GATConv, GCNConv, Layer, Linear, LSTMConv, MeanConv, PoolConv, dropout, linear_at
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
        self.capturable = all(isinstance(conv, Layer) and conv.capturable for conv in self.convs)
        self.reads_edges = frozenset().union(*(conv.reads_edges for conv in self.convs if isinstance(conv, Layer)))

    def forward(self, x: Rows, blocks: Sequence[Block]) -> Tensor:
        """Score targets.

        Args:
            x: [n, in_channels] input rows.
            blocks: one per convolution, the lowest first.

        Returns:
            [b, out_channels] class scores, before softmax.
        """
        return to_dense(self._run(x, blocks, len(self.convs)))

    def hidden(self, x: Rows, blocks: Sequence[Block]) -> Tensor:
        """[b, channels] what the last layer multiplies by its weights; its inputs if it has no method ``hidden``.

        It is called as ``hidden(x, block)``, with ``x`` after the activation.
        """
        if not len(self.convs):
            return to_dense(x)
        h = self._run(x, blocks, len(self.convs) - 1)
        h, slope = self._between(h, is_input=h is x)
        rows, last, top = functional.leaky_relu(to_dense(h), slope), self.convs[-1], blocks[-1]
        hidden: Tensor = last.hidden(rows, top) if hasattr(last, "hidden") else rows.index_select(0, top.root)  # type: ignore[operator]
        return hidden

    def _run(self, x: Rows, blocks: Sequence[Block], count: int) -> Rows:
        """The rows above the first layer, if any, and the first ``count`` convolutions."""
        h = self._lowest(x)
        for conv, block in list(zip(self.convs, blocks, strict=True))[:count]:
            h, slope = self._between(h, is_input=h is x)
            h = _convolve(conv, h, block, slope)
        return h

    def _lowest(self, x: Rows) -> Rows:
        """The first layer, if any; rows that repeat are computed once, and so lose the same hidden units in dropout."""
        if self.first is None:
            return x
        if isinstance(x, RepeatedRows):
            return replace(x, rows=self.first(x.rows))
        rows: Rows = self.first(x)
        return rows

    def _between(self, h: Rows, *, is_input: bool) -> tuple[Rows, float]:
        """The rows for the next convolution, and the slope of the leaky ReLU that it still has to apply."""
        if is_input:
            return h, 1.0
        slope = self.negative_slope
        if self.normalise:
            h, slope = _of_distinct(h, lambda x: functional.normalize(functional.leaky_relu(x, slope), dim=1)), 1.0
        return _of_distinct(h, lambda x: dropout(x, self.dropout, self.training)), slope


def _of_distinct(h: Rows, function: Callable[[Tensor], Tensor]) -> Rows:
    """A function of each row of a layer, computed once for rows that repeat."""
    if isinstance(h, RepeatedRows):
        return replace(h, rows=function(to_dense(h.rows)))
    return function(to_dense(h))


def _convolve(conv: nn.Module, h: Rows, block: Block, slope: float) -> Tensor:
    """Apply the activation of the layer below, then the convolution."""
    if isinstance(conv, Layer) and conv.fuses_activation:
        out: Tensor = conv(h, block, negative_slope=slope)
    else:
        h = h if slope == 1.0 else _of_distinct(h, lambda x: functional.leaky_relu(x, slope))
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
        in_channels: width of x.
        hidden_channels: width of every hidden layer.
        out_channels: number of classes.
        num_layers: 1 is fine only, 2 fine and skip, more add coarse layers between them.
        fine_channels: width of the input rows, 2 · ``in_channels`` when None; more for more hops or relations.
        has_fine: if False, as an ablation, input rows are x only and the first layer is a convolution too.
        conv: the convolution above the fine layer: a name of :data:`CONVS`, the paper's is ``mean``; or a function of
            (in_channels, out_channels), which receives neither ``bias`` nor ``generator``.
        dropout: share of hidden units dropped in training; the paper has none.
        negative_slope: of LeakyReLU.
        bias: the paper's layers have none.
        linear_path: add a linear map of the target's input row to its scores; the paper has none.
        generator: of the initial weights; torch's global one when None.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        *,
        fine_channels: int | None = None,
        has_fine: bool = True,
        conv: str | Callable[[int, int], nn.Module] = "mean",
        dropout: float = 0.0,
        negative_slope: float = 0.01,
        bias: bool = False,
        linear_path: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        widths = [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        fine_width = 2 * in_channels if fine_channels is None else fine_channels
        first = Linear(fine_width, widths[1], bias=bias, generator=generator) if has_fine else None
        above = widths[1:] if has_fine else widths
        create = conv if callable(conv) else partial(CONVS[conv], bias=bias, generator=generator)
        convs = [create(a, b) for a, b in pairwise(above)]
        super().__init__(convs, first=first, dropout=dropout, negative_slope=negative_slope)
        self.direct = Linear(fine_width, out_channels, generator=generator) if linear_path else None

    def forward(self, x: Rows, blocks: Sequence[Block]) -> Tensor:
        """[b, out_channels] class scores; arguments are those of :class:`Stack`."""
        scores = super().forward(x, blocks)
        if self.direct is None:
            return scores
        roots = [block.root for block in blocks]
        while len(roots) > 1:  # the row of the layer below, down to the input rows
            roots = [*roots[:-2], roots[-2].index_select(0, roots[-1])]
        return scores + (linear_at(self.direct, x, roots[0]) if roots else self.direct(x))
