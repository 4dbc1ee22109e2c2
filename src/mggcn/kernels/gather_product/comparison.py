"""Compares the product of gathered rows with its reference; raises AssertionError if they differ."""

import torch
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from mggcn.kernels.gather_product import reference


def on_gpu(table: Tensor, nodes: Tensor, channels: int, padding: int = 0) -> None:
    """Compare the product and its gradient on the device of the table; ``padding`` columns of zeros are added to it."""
    from mggcn.kernels.gather_product import gpu

    generator = torch.Generator().manual_seed(0)
    width = table.shape[1]
    table = functional.pad(table, (0, padding))
    weight = torch.randn(width, channels, generator=generator).to(table).requires_grad_(True)
    coming = torch.randn(nodes.numel(), channels, generator=generator).to(table)
    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        expected = reference.gather_product(table, nodes, weight)
        (of_weight,) = torch.autograd.grad(expected, weight, coming)
        out = gpu.product(table, nodes, weight.detach())
        back = gpu.gradient(table, nodes, coming, width)
    finally:
        torch.set_float32_matmul_precision(precision)
    tolerance = 1e-4 if table.dtype == torch.float32 else 3e-2
    assert_close(out, expected.detach(), rtol=tolerance, atol=tolerance * width**0.5)
    assert_close(back, of_weight.float(), rtol=tolerance, atol=tolerance * nodes.numel() ** 0.5)
