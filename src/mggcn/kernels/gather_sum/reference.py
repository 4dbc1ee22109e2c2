"""Weighted sums over the edges of a block, edge by edge in torch."""

import torch
from torch import Tensor

from mggcn.block import Block


def gather_sum(x: Tensor, block: Block) -> Tensor:
    """[num_src, channels] to [num_dst, channels]: weighted sums of senders, or their means; zero without senders."""
    counts = block.indptr.diff()
    receivers = torch.repeat_interleave(torch.arange(block.num_dst), counts)
    weight = 1 / counts.to(x)[receivers] if block.weight is None else block.weight
    return x.new_zeros(block.num_dst, x.shape[1]).index_add(0, receivers, weight[:, None] * x[block.indices])
