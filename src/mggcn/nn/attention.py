"""Graph attention over blocks."""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from mggcn.block import Block
from mggcn.errors import InputError
from mggcn.nn.conv import Layer, Linear, aggregate
from mggcn.nn.rows import Rows

_SLOPE = 0.2


class GATConv(Layer, accepts_rows=True, capturable=True):
    """Graph attention (Veličković and others): the sum of W h over the senders, each times a softmax of its score.

    The score of sender j for receiver i is LeakyReLU(a_root · W h_i + a_sender · W h_j), of slope 0.2. The sum
    is zero for a receiver without senders. Of a block's weights only zeros are used: such a sender is left out.

    Args:
        in_channels: width of the layer below.
        out_channels: width of the result.
        heads: the number of attention heads.
        concat: concatenate the heads, each ``out_channels / heads`` wide, or take their mean, each ``out_channels``
            wide.
        add_root: add each receiver to its own senders, for blocks that do not list it.
        bias: added to the result.
        generator: of the initial weights; torch's global one when None.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        heads: int = 1,
        concat: bool = True,
        add_root: bool = False,
        bias: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if heads < 1 or (concat and out_channels % heads):
            raise InputError(f"heads: {heads} do not divide {out_channels} channels")
        self.heads, self.concat, self.add_root = heads, concat, add_root
        self.width = out_channels // heads if concat else out_channels
        self.linear = Linear(in_channels, heads * self.width, generator=generator)
        self.root = nn.Parameter(torch.empty(heads, self.width))
        self.sender = nn.Parameter(torch.empty(heads, self.width))
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None
        for vector in (self.root, self.sender):
            nn.init.xavier_uniform_(vector, generator=generator)

    def forward(self, x: Rows, block: Block) -> Tensor:
        """[num_src, in_channels] to [num_dst, out_channels]."""
        h: Tensor = self.linear(x).view(-1, self.heads, self.width)
        root, sender = (h * self.root).sum(dim=2), (h * self.sender).sum(dim=2)  # [num_src, heads]
        root, itself = root.index_select(0, block.root), sender.index_select(0, block.root)
        receivers = block.receivers
        scores = functional.leaky_relu(
            root.index_select(0, receivers) + sender.index_select(0, block.indices), _SLOPE
        )  # [num_edges, heads]
        root_score = functional.leaky_relu(root + itself, _SLOPE) if self.add_root else None
        share, root_share = _softmax(scores, receivers, block, root_score)
        heads = [
            aggregate(part.contiguous(), replace(block, weight=factor.contiguous()))
            for part, factor in zip(h.unbind(dim=1), share.to(h.dtype).unbind(dim=1), strict=True)
        ]
        out = torch.stack(heads, dim=1)  # [num_dst, heads, width]
        if root_share is not None:
            out = out + root_share.unsqueeze(2).to(h.dtype) * h.index_select(0, block.root)
        joined = out.flatten(1) if self.concat else out.mean(dim=1)
        return joined if self.bias is None else joined + self.bias


def _softmax(scores: Tensor, receivers: Tensor, block: Block, root: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """The softmax over every receiver's senders, and its own score if ``root`` is not None."""
    scores, index = scores.float(), receivers.unsqueeze(1).expand_as(scores)
    if block.weight is not None:
        scores = scores.masked_fill((block.weight.detach() == 0).unsqueeze(1), -torch.inf)
    lowest = torch.finfo(scores.dtype).min
    start = scores.new_full((block.num_dst, scores.shape[1]), lowest) if root is None else root.float()
    highest = start.detach().scatter_reduce(0, index, scores.detach(), "amax")
    factors = (scores - highest.index_select(0, receivers)).exp()
    total = torch.zeros_like(highest).scatter_add(0, index, factors)
    if root is None:
        return factors / total.clamp(min=torch.finfo(total.dtype).tiny).index_select(0, receivers), None
    of_root = (root.float() - highest).exp()
    total = total + of_root
    return factors / total.index_select(0, receivers), of_root / total
