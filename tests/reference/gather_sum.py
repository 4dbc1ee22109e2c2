"""Weighted sums over the edges of a block, edge by edge in torch."""

from torch import Tensor

from mggcn.block import Block


def gather_sum(x: Tensor, block: Block) -> Tensor:
    """[num_src, channels] to [num_dst, channels]: weighted sums of senders, or their means; zero without senders."""
    counts = block.indptr.diff()
    weight = 1 / counts.to(x)[block.receivers] if block.weight is None else block.weight
    return x.new_zeros(block.num_dst, x.shape[1]).index_add(0, block.receivers, weight[:, None] * x[block.indices])
