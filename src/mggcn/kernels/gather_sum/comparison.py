"""Compares the back end of the sums over edges with its reference; raises AssertionError if they differ."""

import torch
from torch.testing import assert_close

from mggcn.block import Block
from mggcn.kernels.gather_sum import gather_sum, reference


def on_cpu(block: Block, channels: int) -> None:
    """Compare the sums of random rows, the gradient of the rows, and that of the block's weights if it has any."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(block.num_src, channels, generator=generator, requires_grad=True)
    coming = torch.randn(block.num_dst, channels, generator=generator)
    leaves = [x] if block.weight is None else [x, block.weight]
    out, expected = gather_sum(x, block), reference.gather_sum(x, block)
    assert_close(out, expected)
    assert_close(torch.autograd.grad(out, leaves, coming), torch.autograd.grad(expected, leaves, coming))
