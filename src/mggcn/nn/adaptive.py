"""The convolutions of AS-GCN: over drawn layers, with an attention that the sampler shares.

From Huang, Zhang, Rong and Huang, Adaptive sampling towards fast graph representation learning. A linear map of the
input features gives every node two numbers, one as a receiver and one as a sender. The attention of receiver v to
sender u is a(v, u) = ReLU(receiver(v) + sender(u)) + 1, a factor of the adjacency; g(u) = ReLU(sender(u)) + 1 is the
sampler's estimate of the size of a sender's hidden row.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import torch
from torch import Tensor, nn

from mggcn.block import Block, DrawnBlock
from mggcn.nn.conv import Layer, Linear, aggregate
from mggcn.nn.dropout import dropout
from mggcn.nn.rows import Rows


class AdaptiveStack(Layer, accepts_rows=True):
    """Graph convolutions whose factors are learned together with the sampler's probabilities.

    Args:
        widths: of the input, each hidden layer and the output.
        attend: whether the attention multiplies the adjacency; without it only the variance trains the sampler.
        skip: add to every layer above the first the rows from two layers below, without the activation in between,
            times the product of both layers' weights.
        dropout: share of hidden units dropped in training.
        bias: add a bias to each layer.
        aggregated: whether input rows already hold the first layer's aggregate, so that it has no block.
        generator: of the initial weights; torch's global one when None.
    """

    def __init__(
        self,
        widths: Sequence[int],
        *,
        attend: bool = True,
        skip: bool = False,
        dropout: float = 0.0,
        bias: bool = False,
        aggregated: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Linear(a, b, generator=generator) for a, b in pairwise(widths))
        self.bias = nn.ParameterList(torch.zeros(b) for b in widths[1:]) if bias else None
        self.sampling = Linear(widths[0], 2, generator=generator)
        self.attend, self.skip, self.dropout, self.aggregated = attend, skip, dropout, aggregated

    def importance(self, x: Rows, block: Block) -> Tensor:
        """[num_src] the importance of each sender for all receivers: the sum of its factors times g.

        Args:
            x: [num_src, in_channels] input rows.
            block: whole neighbourhoods.
        """
        numbers: Tensor = self.sampling(x)
        return _importance(numbers, self._with_attention(block, numbers))

    def scored(self, x: Rows, blocks: Sequence[Block]) -> tuple[Tensor, Tensor]:
        """Score targets.

        Args:
            x: [n, in_channels] input rows.
            blocks: one per layer, the lowest first.

        Returns:
            [b, out_channels] class scores, before softmax; and the variance of their sums over the top layer's sample,
            0 for a block that was not drawn.
        """
        joined = torch.cat([self.layers[0].weight, self.sampling.weight], dim=1)  # type: ignore[list-item]
        rows, numbers = torch.tensor_split(x.matmul(joined), [joined.shape[1] - 2], dim=1)
        rows, skipped, variance = rows.contiguous(), None, rows.new_zeros(())
        out = rows
        if self.aggregated:
            out = self._with_bias(rows, 0)
            rows, skipped = self._above(0, out, rows)
        for layer, block in enumerate(blocks, start=int(self.aggregated)):
            weighted = self._with_attention(block, numbers)
            direct = aggregate(rows, weighted)
            out = self._with_bias(direct if skipped is None else direct + aggregate(skipped, weighted), layer)
            if layer + 1 == len(self.layers):
                return out, _variance(rows, numbers, weighted, direct)
            rows, skipped = self._above(layer, out, direct)
            numbers = numbers.index_select(0, block.root)
        return out, variance

    def _with_bias(self, out: Tensor, layer: int) -> Tensor:
        return out if self.bias is None else out + self.bias[layer]

    def _above(self, layer: int, out: Tensor, direct: Tensor) -> tuple[Tensor, Tensor | None]:
        """The rows that the next layer sums: its products with the activated and with the skipping rows."""
        if layer + 1 == len(self.layers):
            return out, None
        linear = self.layers[layer + 1]
        hidden = dropout(out.relu(), self.dropout, self.training)
        return linear(hidden), linear(direct) if self.skip else None

    def _with_attention(self, block: Block, numbers: Tensor) -> Block:
        """The block with its weights multiplied by the attention, from [num_src, 2] numbers."""
        if not self.attend or block.weight is None:
            return block
        receivers = numbers[:, 0].index_select(0, block.root).index_select(0, block.receivers)
        attention = torch.relu(receivers + numbers[:, 1].index_select(0, block.indices)) + 1
        return replace(block, weight=block.weight * attention)


def _importance(numbers: Tensor, block: Block) -> Tensor:
    """[num_src] the sum of each sender's weights times g."""
    estimate = torch.relu(numbers[:, 1]) + 1
    if block.weight is None:
        raise TypeError("importance needs a block with weights")
    return estimate * torch.zeros_like(estimate).index_add(0, block.indices, block.weight.to(estimate.dtype))


def _variance(rows: Tensor, numbers: Tensor, block: Block, total: Tensor) -> Tensor:
    """The empirical variance of a drawn layer's sums, averaged over receivers and channels.

    A receiver's sum is the mean over n draws of z = a(v, u) Â(v, u) h(u) / q(u), so its variance is that of z over n.
    The block holds the probabilities q as numbers; this function restores their gradient. As the draws follow q, its
    normalising constant changes like the mean, over the draws, of the change of importance.

    Args:
        rows: [num_src, channels] the senders h.
        numbers: [num_src, 2] the two numbers of every node.
        block: the edges with their final weights.
        total: [num_dst, channels] the sums.
    """
    if not isinstance(block, DrawnBlock) or block.weight is None:
        return total.new_zeros(())
    importance = _importance(numbers, block)
    change = importance / importance.detach().clamp_min(torch.finfo(importance.dtype).tiny)
    change = change * block.draws / (block.count @ change)  # 1 at every drawn row, with the gradient of log q
    shared = (block.count * change).clamp_min(1e-9).index_select(0, block.indices)
    squares = aggregate(rows.square(), replace(block, weight=block.weight.square() / shared))
    return (squares - total.square() / block.draws).mean()
