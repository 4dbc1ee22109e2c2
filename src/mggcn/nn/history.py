"""A graph convolution with control variates: the stored rows of all neighbours, corrected by new rows of a few."""

from dataclasses import replace

import torch
from torch import Tensor

from mggcn.block import Block, HistoryBlock
from mggcn.nn.conv import GCNConv, aggregate
from mggcn.nn.dropout import dropout
from mggcn.nn.rows import Rows, to_dense


class HistoryConv(GCNConv):
    """A graph convolution that in training stores the last row of every node.

    With history h̄, rows h, their dropped-out form d, the normalised adjacency Â and its drawn part Â' (n / D times the
    entries drawn, D of n), it estimates Â d by Â h̄ + Â' (h - h̄) + Â'' (d - h), where Â'' scales by √(n / D) instead.
    That is the paper's CVD estimator, and without dropout its CV estimator. Other blocks are summed exactly.

    Args:
        in_channels: width of the layer below.
        out_channels: width of the result.
        dropout: share of the incoming units dropped in training.
        bias: added after the sum.
        generator: of the initial weights; torch's global one when None.
    """

    history: Tensor

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        dropout: float = 0.0,
        bias: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(in_channels, out_channels, bias=bias, generator=generator)
        self.dropout = dropout
        self.register_buffer("history", torch.zeros(0, in_channels), persistent=False)

    def forward(self, x: Rows, block: Block) -> Tensor:
        """[num_src, in_channels] to [num_dst, out_channels]."""
        h = to_dense(x)
        if self.training and isinstance(block, HistoryBlock):
            out: Tensor = self.linear(self.estimate(h, block))
        else:
            out = aggregate(self.linear(dropout(h, self.dropout, self.training)), block)
        return out if self.bias is None else out + self.bias

    def estimate(self, h: Tensor, block: HistoryBlock) -> Tensor:
        """[num_dst, in_channels] the sum over all senders, estimated; the history then holds ``h``."""
        if self.history.shape[0] != block.num_nodes:
            self.history = torch.zeros(block.num_nodes, h.shape[1], device=h.device)
        all_edges = Block(block.num_nodes, block.all_indptr, block.all_nodes, block.nodes[block.root], block.all_weight)
        old = aggregate(self.history, all_edges)
        out = old + aggregate(h - self.history.index_select(0, block.nodes), block)
        if self.dropout > 0:
            noise = dropout(h, self.dropout, self.training) - h
            out = out + aggregate(noise.float(), replace(block, weight=block.noise))
        self.history.index_copy_(0, block.nodes, h.detach().float())
        return out
