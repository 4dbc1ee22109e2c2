"""GraphSAGE's LSTM aggregator over blocks."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from mggcn.block import Block
from mggcn.nn.conv import Linear
from mggcn.nn.pool import linear_at
from mggcn.nn.rows import Rows


class LSTMConv(nn.Module):
    """GraphSAGE's LSTM aggregator: concat(h, last state of an LSTM over the senders), times W.

    The LSTM reads a receiver's senders in the block's order, which the sampler has shuffled. The state of no senders is
    zero. Of a block's weights only zeros are read: such a sender is left out.

    Rows are multiplied by the input weights once each, however many receivers they have; the recurrence then runs over
    all receivers side by side, the longest first, and never over padding.

    Args:
        in_channels: width of the layer below.
        out_channels: width of the result.
        bias: of the result; the LSTM's gates always have their own.
        state_channels: width of the LSTM's state; ``in_channels`` when None.
        generator: of the initial weights; torch's global one when None.
    """

    accepts_rows: ClassVar[bool] = True

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
            self.gates.bias[self.width : 2 * self.width] = 1  # type: ignore[index]  # an LSTM begins by remembering

    def forward(self, x: Rows, block: Block) -> Tensor:
        """[num_src, in_channels] to [num_dst, out_channels]."""
        aggregated: Tensor = self.states(self._states(self.gates(x), block))
        return aggregated + linear_at(self.root, x, block.root)

    def _states(self, gates: Tensor, block: Block) -> Tensor:
        """From [num_src, 4 · width] to the last states [num_dst, width]; gates are input, forget, output and cell."""
        starts, senders = _senders(block)
        lengths = starts.diff()
        order = torch.argsort(lengths, descending=True, stable=True)
        first = starts[:-1][order]
        running = _running(lengths)
        at = torch.cat([first[:count] + step for step, count in enumerate(running)]) if running else first[:0]
        state = cell = gates.new_zeros(0, self.width)
        done: list[Tensor] = []
        for step, now in enumerate(torch.split(gates.index_select(0, senders[at]), running)):
            if step:
                ended = state.shape[0] - now.shape[0]
                state, last = torch.split(state, [now.shape[0], ended])
                cell, _ = torch.split(cell, [now.shape[0], ended])
                done.append(last)
                now = now + self.recur(state)
            gate_values, new = torch.split(now, [3 * self.width, self.width], dim=1)
            take, keep, show = gate_values.sigmoid().chunk(3, dim=1)
            cell = take * new.tanh() + keep * cell if step else take * new.tanh()
            state = show * cell.tanh()
        silent = gates.new_zeros(block.num_dst - (running[0] if running else 0), self.width)
        ordered = torch.cat([state, *reversed(done), silent])
        return torch.empty_like(ordered).index_copy(0, order, ordered)


def _senders(block: Block) -> tuple[Tensor, Tensor]:
    """Where each receiver's senders start and the senders, without those of weight zero."""
    if block.weight is None:
        return block.indptr, block.indices
    keep = block.weight.detach() != 0
    before = torch.cat([block.indptr.new_zeros(1), keep.cumsum(0).to(block.indptr.dtype)])
    return before[block.indptr], block.indices[keep]


def _running(lengths: Tensor) -> list[int]:
    """How many receivers have more than 0, 1, 2 … senders."""
    having = torch.bincount(lengths)  # [longest + 1]
    return (lengths.numel() - having.cumsum(0))[:-1].tolist()
