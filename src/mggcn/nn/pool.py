"""GraphSAGE's pooling aggregator over blocks."""

from typing import Any

import torch
from torch import Tensor, nn

from mggcn.block import Block
from mggcn.nn.conv import Linear, activated
from mggcn.nn.rows import Rows


class PoolConv(nn.Module):
    """GraphSAGE's pooling aggregator: concat(h, max over the senders of ReLU(h W_pool + b)), times W.

    The maximum over no senders is zero. Of a block's weights only zeros are read: such a sender is not heard.

    Args:
        in_channels: width of the layer below.
        out_channels: width of the result.
        bias: of the result; the pooling always has its own.
        pool_channels: width of what is pooled; ``in_channels`` when None.
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
        self.own = Linear(in_channels, out_channels, bias=bias, generator=generator)
        self.pooled = Linear(width, out_channels, generator=generator)

    def forward(self, x: Rows, block: Block, slope: float = 1.0) -> Tensor:
        """[num_src, in_channels] to [num_dst, out_channels]; x first passes a leaky ReLU of this slope."""
        h = activated(x, slope)
        pooled: Tensor = self.pooled(maximum(self.pool(h).relu(), block))
        return pooled + projected_at(self.own, h, block.root)


def projected_at(project: Linear, x: Rows, places: Tensor) -> Tensor:
    """Some rows times a matrix: dense ones are chosen first, sparse ones multiplied first."""
    chosen: Tensor = project(x.index_select(0, places)) if isinstance(x, Tensor) else project(x).index_select(0, places)
    return chosen


def maximum(x: Tensor, block: Block) -> Tensor:
    """The largest value of every receiver's senders in each channel; zero for a receiver without senders.

    Args:
        x: [num_src, channels], none below zero.
        block: the edges; a sender of weight zero counts as zero.

    Returns:
        [num_dst, channels].
    """
    heard = None if block.weight is None else (block.weight.detach() != 0).to(x.dtype)
    if block.group is not None:
        grouped = x.view(block.group, block.num_dst, -1)
        if heard is not None:
            grouped = grouped * heard.view(block.num_dst, block.group).T.unsqueeze(-1)
        return grouped.amax(dim=0)
    edges = block.indices
    if heard is not None:
        x = x.index_select(0, edges) * heard.unsqueeze(-1)
        edges = torch.arange(edges.numel(), device=edges.device)
    found: Tensor = _Maximum.apply(x, edges, block.indptr)  # type: ignore[no-untyped-call]
    return found


class _Maximum(torch.autograd.Function):
    """Torch's own maximum of bags, with a gradient that writes all channels in one go instead of one after another."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, edges: Tensor, indptr: Tensor) -> Tensor:
        out, _, _, where = torch.embedding_bag(x, edges, indptr, mode=2, include_last_offset=True)
        ctx.save_for_backward(where[: out.shape[0]], indptr)
        ctx.num_src = x.shape[0]
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        where, indptr = ctx.saved_tensors
        heard = gradients[0] * (indptr.diff() > 0).unsqueeze(1)
        out = heard.new_zeros(ctx.num_src, heard.shape[1])
        return out.scatter_add_(0, where.clamp(min=0), heard), None, None
