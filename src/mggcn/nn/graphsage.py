"""GraphSAGE as an ordinary module: one convolution per block, a ReLU between them."""

from collections.abc import Iterable, Sequence

from torch import Tensor, nn
from torch.nn import functional

from mggcn.block import Block
from mggcn.inputs import Rows, written_out


class GraphSAGE(nn.Module):
    """Runs one convolution per block; between layers a ReLU, division by the row's length if asked for, and dropout.

    Args:
        convs: each takes rows, a block and the slope of the activation of the rows, which is 1 here.
        first: a layer of its own below the convolutions, for inputs that already hold an aggregate.
        dropout: share of hidden units dropped in training.
        normalise: divide hidden rows by their Euclidean length, line 7 of the paper's Algorithm 1.
    """

    def __init__(
        self,
        convs: Iterable[nn.Module],
        *,
        first: nn.Module | None = None,
        dropout: float = 0.0,
        normalise: bool = False,
    ) -> None:
        super().__init__()
        self.first = first
        self.convs = nn.ModuleList(convs)
        self.dropout = dropout
        self.normalise = normalise

    def forward(self, x: Rows, blocks: Sequence[Block]) -> Tensor:
        """Score targets.

        Args:
            x: [n, in_channels] input rows.
            blocks: one per convolution, the lowest first.

        Returns:
            [b, out_channels] class scores, before softmax.
        """
        h: Rows = x if self.first is None else self.first(x)
        for conv, block in zip(self.convs, blocks, strict=True):
            h = conv(h if h is x else self._hidden(h), block)
        return written_out(h)

    def _hidden(self, x: Rows) -> Tensor:
        h = written_out(x).relu()
        if self.normalise:
            h = functional.normalize(h, dim=1)
        return functional.dropout(h, self.dropout, self.training)
