"""Compares the back ends of the grouped layer with its reference; they raise AssertionError if they differ."""

import numpy as np
import torch
from torch import Tensor
from torch.testing import assert_close

from mggcn.block import Repeats
from mggcn.kernels.combine import cpu, reference
from mggcn.kernels.expand import segment_sum


def on_cpu(h: Tensor, group: int, slope: float, index: Tensor | None = None) -> None:
    """Compare the combination and gradient of [group · b, channels] rows, or of the rows that an index names."""
    index = torch.arange(h.shape[0]) if index is None else index
    b, channels = index.numel() // group, h.shape[1]
    coming = torch.randn(b, 2 * channels, generator=torch.Generator().manual_seed(1))
    leaf = h.clone().requires_grad_(True)
    expected = reference.combine(leaf[index], group, slope)
    (of_h,) = torch.autograd.grad(expected, leaf, coming)
    out, back = np.full((b, 2 * channels), np.nan, np.float32), np.zeros(h.shape, np.float32)
    cpu.forward(h.numpy(), index.numpy(), group, np.float32(slope), out)
    cpu.backward(h.numpy(), index.numpy(), group, np.float32(slope), coming.numpy(), back)
    np.testing.assert_allclose(out, expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(back, of_h.numpy(), rtol=1e-5, atol=1e-6)


def on_gpu(h: Tensor, group: int, slope: float, weight: Tensor, repeats: Repeats | None = None) -> None:
    """Compare the combination times a matrix, and its gradients; all tensors are on the kernel's device.

    Args:
        h: [group · b, channels]; with ``repeats``, only the distinct rows.
        group: members of each group.
        slope: of the leaky ReLU.
        weight: [2 · channels, out].
        repeats: which rows are equal.
    """
    from mggcn.kernels.combine import gpu

    h, weight = h.clone().requires_grad_(True), weight.clone().requires_grad_(True)
    index = None if repeats is None else repeats.index
    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        expected = reference.combine_project(h if index is None else h[index.long()], group, slope, weight)
        coming = torch.randn(expected.shape, generator=torch.Generator().manual_seed(1)).to(h.device)
        of_h, of_weight = torch.autograd.grad(expected, (h, weight), coming)
        out, joined = gpu.forward(h.detach(), group, slope, weight.detach(), index)
        back = gpu.backward(h.detach(), group, slope, weight.detach(), joined, coming, index)
    finally:
        torch.set_float32_matmul_precision(precision)
    back_h = back[0] if repeats is None else segment_sum(back[0], repeats)
    assert_close([out, back_h, back[1]], [expected.detach(), of_h, of_weight], rtol=1e-4, atol=1e-4)
