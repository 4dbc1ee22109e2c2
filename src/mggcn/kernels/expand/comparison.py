"""Compares the back end of the expansion with its reference; raises AssertionError if they differ."""

import torch
from torch.testing import assert_close

from mggcn.block import Repeats
from mggcn.kernels.expand import expand, reference


def on_gpu(repeats: Repeats, channels: int) -> None:
    """Compare the copies of random rows, and the gradient, on the device of ``repeats``."""
    device, generator = repeats.index.device, torch.Generator().manual_seed(0)
    x = torch.randn(repeats.capacity, channels, generator=generator).to(device).requires_grad_(True)
    coming = torch.randn(repeats.count, channels, generator=generator).to(device)
    out, expected = expand(x, repeats), reference.expand(x, repeats)
    assert_close(out, expected, rtol=0, atol=0)
    assert_close(torch.autograd.grad(out, x, coming), torch.autograd.grad(expected, x, coming))
