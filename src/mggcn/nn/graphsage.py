"""GraphSAGE's pooling and LSTM aggregators over blocks; its mean aggregator is :class:`mggcn.nn.MeanConv`."""

from typing import Any

import torch
from torch import Tensor

from mggcn.block import Block
from mggcn.nn.conv import Layer, Linear
from mggcn.nn.rows import Rows


class PoolConv(Layer, accepts_rows=True, capturable=True):
    """GraphSAGE's pooling aggregator: concat(h, max over the senders of ReLU(h W_pool + b)), times W.

    Without senders the maximum is zero. Of a block's weights only zeros are used: such a sender is left out.

    Args:
        in_channels: width of the layer below.
        out_channels: width of the result.
        bias: of the result; the pooling layer always has a bias.
        pool_channels: width of the pooled rows; ``in_channels`` when None.
        generator: of the initial weights; torch's global one when None.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        bias: bool = False,
        pool_channels: int | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        width = pool_channels or in_channels
        self.pool = Linear(in_channels, width, bias=True, generator=generator)
        self.root = Linear(in_channels, out_channels, bias=bias, generator=generator)
        self.pooled = Linear(width, out_channels, generator=generator)

    def forward(self, x: Rows, block: Block) -> Tensor:
        """[num_src, in_channels] to [num_dst, out_channels]."""
        pooled: Tensor = self.pooled(maximum(self.pool(x).relu(), block))
        return pooled + linear_at(self.root, x, block.root)

    def hidden(self, x: Tensor, block: Block) -> Tensor:
        """[num_dst, in_channels + pool_channels] what the weights multiply: the receiver's row and the maximum."""
        return torch.cat([x.index_select(0, block.root), maximum(self.pool(x).relu(), block)], dim=1)


def linear_at(linear: Linear, x: Rows, index: Tensor) -> Tensor:
    """A linear map of the rows at ``index``: dense rows are selected first, others multiplied first."""
    rows: Tensor = linear(x.index_select(0, index)) if isinstance(x, Tensor) else linear(x).index_select(0, index)
    return rows


def maximum(x: Tensor, block: Block) -> Tensor:
    """The largest value of every receiver's senders in each channel; zero for a receiver without senders.

    Args:
        x: [num_src, channels], not negative.
        block: the edges; a sender of weight zero counts as zero.

    Returns:
        [num_dst, channels].
    """
    keep = None if block.weight is None else (block.weight.detach() != 0).to(x.dtype)
    if block.group is not None:
        grouped = x.view(block.group, block.num_dst, -1)
        if keep is not None:
            grouped = grouped * keep.view(block.num_dst, block.group).T.unsqueeze(-1)
        return grouped.amax(dim=0)
    edges = block.indices
    if keep is not None:
        x = x.index_select(0, edges) * keep.unsqueeze(-1)
        edges = torch.arange(edges.numel(), device=edges.device)
    largest: Tensor = _Maximum.apply(x, edges, block.indptr)  # type: ignore[no-untyped-call]
    return largest


class _Maximum(torch.autograd.Function):
    """The maximum of ``torch.embedding_bag`` with a faster gradient, which writes all channels at once."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, edges: Tensor, indptr: Tensor) -> Tensor:
        out, _, _, where = torch.embedding_bag(x, edges, indptr, mode=2, include_last_offset=True)
        ctx.save_for_backward(where[: out.shape[0]], indptr)
        ctx.num_src = x.shape[0]
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        where, indptr = ctx.saved_tensors
        gradient = gradients[0] * (indptr.diff() > 0).unsqueeze(1)
        out = gradient.new_zeros(ctx.num_src, gradient.shape[1])
        return out.scatter_add_(0, where.clamp(min=0), gradient), None, None


class LSTMConv(Layer, accepts_rows=True):
    """GraphSAGE's LSTM aggregator: concat(h, last state of an LSTM over the senders), times W.

    The LSTM reads a receiver's senders in the block's order, which the sampler has shuffled. Without senders the state
    is zero. Of a block's weights only zeros are used: such a sender is left out.

    Each row is multiplied by the input weights once, for all its receivers; the recurrence then runs over all receivers
    in parallel, those with most senders first, without padding.

    Args:
        in_channels: width of the layer below.
        out_channels: width of the result.
        bias: of the result; the LSTM's gates always have their own.
        state_channels: width of the LSTM's state; ``in_channels`` when None.
        generator: of the initial weights; torch's global one when None.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        bias: bool = False,
        state_channels: int | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.width = state_channels or in_channels
        self.gates = Linear(in_channels, 4 * self.width, bias=True, generator=generator)
        self.recur = Linear(self.width, 4 * self.width, generator=generator)
        self.root = Linear(in_channels, out_channels, bias=bias, generator=generator)
        self.states = Linear(self.width, out_channels, generator=generator)
        with torch.no_grad():
            self.gates.bias[self.width : 2 * self.width] = 1  # type: ignore[index]  # initially the forget gate keeps the state

    def forward(self, x: Rows, block: Block) -> Tensor:
        """[num_src, in_channels] to [num_dst, out_channels]."""
        aggregated: Tensor = self.states(self._states(self.gates(x), block))
        return aggregated + linear_at(self.root, x, block.root)

    def hidden(self, x: Tensor, block: Block) -> Tensor:
        """[num_dst, in_channels + state_channels] what the weights multiply: the receiver's row and the last state."""
        return torch.cat([x.index_select(0, block.root), self._states(self.gates(x), block)], dim=1)

    def _states(self, gates: Tensor, block: Block) -> Tensor:
        """From [num_src, 4 · width] to the last states [num_dst, width]; gates are input, forget, output and cell."""
        starts, senders = _senders(block)
        lengths = starts.diff()
        order = torch.argsort(lengths, descending=True, stable=True)
        first = starts[:-1][order]
        running = _running(lengths)
        edges = torch.cat([first[:count] + step for step, count in enumerate(running)]) if running else first[:0]
        state = cell = gates.new_zeros(0, self.width)
        done: list[Tensor] = []
        for step, now in enumerate(torch.split(gates.index_select(0, senders[edges]), running)):
            if step:
                ended = state.shape[0] - now.shape[0]
                state, last = torch.split(state, [now.shape[0], ended])
                cell, _ = torch.split(cell, [now.shape[0], ended])
                done.append(last)
                now = now + self.recur(state)
            gate_values, new = torch.split(now, [3 * self.width, self.width], dim=1)
            input_gate, forget_gate, output_gate = gate_values.sigmoid().chunk(3, dim=1)
            cell = input_gate * new.tanh() + forget_gate * cell if step else input_gate * new.tanh()
            state = output_gate * cell.tanh()
        without_senders = gates.new_zeros(block.num_dst - (running[0] if running else 0), self.width)
        ordered = torch.cat([state, *reversed(done), without_senders])
        return torch.empty_like(ordered).index_copy(0, order, ordered)


def _senders(block: Block) -> tuple[Tensor, Tensor]:
    """The start of each receiver's senders and the senders, without those of weight zero."""
    if block.weight is None:
        return block.indptr, block.indices
    keep = block.weight.detach() != 0
    before = torch.cat([block.indptr.new_zeros(1), keep.cumsum(0).to(block.indptr.dtype)])
    return before[block.indptr], block.indices[keep]


def _running(lengths: Tensor) -> list[int]:
    """How many receivers have more than 0, 1, 2 … senders."""
    counts = torch.bincount(lengths)  # [longest + 1]
    return (lengths.numel() - counts.cumsum(0))[:-1].tolist()
