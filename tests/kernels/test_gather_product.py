import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from mggcn.kernels.gather import gather_product
from mggcn.kernels.gpu import gather as gpu
from tests.gpu import GPU
from tests.reference import gather_product as reference
from tests.skips import NO_GPU


def compare_on_gpu(table: Tensor, nodes: Tensor, channels: int, padding: int = 0, **shares: int) -> None:
    """Compare the product and its gradient on the device of the table; ``padding`` columns of zeros are added to it."""
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
        back = gpu.gradient(table, nodes, coming, width, **shares)
    finally:
        torch.set_float32_matmul_precision(precision)
    tolerance = 1e-4 if table.dtype == torch.float32 else 3e-2
    assert_close(out, expected.detach(), rtol=tolerance, atol=tolerance * width**0.5)
    assert_close(back, of_weight.float(), rtol=tolerance, atol=tolerance * nodes.numel() ** 0.5)


IN_BF16 = pytest.param(torch.bfloat16, marks=pytest.mark.skipif(GPU.type == "cpu", reason=NO_GPU))  # not interpreted


@pytest.mark.parametrize("dtype", [torch.float32, IN_BF16])
@pytest.mark.parametrize(("rows", "width", "padding", "channels"), [(70, 40, 0, 16), (33, 22, 2, 7), (1, 130, 2, 70)])
def test_gpu_equals_reference_with_gradient(
    rows: int, width: int, padding: int, channels: int, dtype: torch.dtype
) -> None:
    generator = torch.Generator().manual_seed(width)
    table = torch.randn(50, width, generator=generator).to(GPU, dtype)
    nodes = torch.randint(0, 50, (rows,), generator=generator, dtype=torch.int32).to(GPU)
    compare_on_gpu(table, nodes, channels, padding)


def test_many_rows_are_summed_in_shares() -> None:
    generator = torch.Generator().manual_seed(0)
    table = torch.randn(9, 5, generator=generator).to(GPU)
    nodes = torch.randint(0, 9, (300,), generator=generator, dtype=torch.int32).to(GPU)
    compare_on_gpu(table, nodes, 4, few=100, share=128)


def test_rows_in_float32_are_multiplied_as_they_are() -> None:
    table, nodes = torch.randn(9, 8), torch.tensor([3, 3, 0], dtype=torch.int32)
    weight = torch.randn(7, 2, requires_grad=True)
    assert torch.equal(gather_product(table, nodes, weight), reference.gather_product(table, nodes, weight))
