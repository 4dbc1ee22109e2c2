"""Compares the back ends of the sums over edges with their reference; they raise AssertionError if they differ."""

import torch
from torch import Tensor
from torch.testing import assert_close

from mggcn.block import Block
from mggcn.kernels.gather_sum import gather_sum, reference


def on_cpu(block: Block, channels: int) -> None:
    """Compare the sums of random rows, the gradient of the rows, and that of the block's weights if it has any."""
    x, coming = _rows(block, channels)
    leaves = [x] if block.weight is None else [x, block.weight]
    out, expected = gather_sum(x, block), reference.gather_sum(x, block)
    assert_close(out, expected)
    assert_close(torch.autograd.grad(out, leaves, coming), torch.autograd.grad(expected, leaves, coming))


def on_gpu(block: Block, channels: int) -> None:
    """Compare the same on the block's device."""
    from mggcn.kernels.gather_sum import gpu

    x, coming = _rows(block, channels)
    out, gradient = torch.full_like(coming, torch.nan), torch.full_like(x, torch.nan)
    gpu.sums(block.indptr, block.indices, block.factors, x.detach(), out)
    gpu.sums(*block.transposed, coming, gradient)
    expected = reference.gather_sum(x, block)
    assert_close(out, expected.detach())
    leaves = [x] if block.weight is None else [x, block.weight]
    gradients = torch.autograd.grad(expected, leaves, coming)
    assert_close(gradient, gradients[0])
    if block.weight is not None:
        dots = torch.full_like(block.weight, torch.nan)
        gpu.dots(block.indptr, block.indices, x.detach(), coming, dots)
        assert_close(dots, gradients[1])


def _rows(block: Block, channels: int) -> tuple[Tensor, Tensor]:
    """Random rows of the layer below, and a random gradient of the sums, on the block's device."""
    generator, device = torch.Generator().manual_seed(0), block.indices.device
    x = torch.randn(block.num_src, channels, generator=generator).to(device).requires_grad_()
    return x, torch.randn(block.num_dst, channels, generator=generator).to(device)
