import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from mggcn.block import Repeats
from mggcn.kernels.combine import _backward, _forward, combine_project, plain_combine
from mggcn.kernels.gpu import combine as gpu
from mggcn.kernels.relabel import segment_sum
from mggcn.sampling.mix_grained import find_repeats
from tests.gpu import GPU


def compare_on_cpu(
    h: Tensor, group: int, slope: float, index: Tensor | None = None, factors: Tensor | None = None
) -> None:
    """Compare the combination and gradient of [group · b, channels] rows, or of the rows that an index names."""
    index = torch.arange(h.shape[0]) if index is None else index
    b, channels = index.numel() // group, h.shape[1]
    coming = torch.randn(b, 2 * channels, generator=torch.Generator().manual_seed(1))
    leaf = h.clone().requires_grad_(True)
    expected = plain_combine(leaf[index], group, slope, factors)
    (of_h,) = torch.autograd.grad(expected, leaf, coming)
    weights = np.empty((0, group), np.float32) if factors is None else factors.numpy()
    out, back = np.full((b, 2 * channels), np.nan, np.float32), np.zeros(h.shape, np.float32)
    _forward(h.numpy(), index.numpy(), weights, group, np.float32(slope), out)
    _backward(h.numpy(), index.numpy(), weights, group, np.float32(slope), coming.numpy(), back)
    np.testing.assert_allclose(out, expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(back, of_h.numpy(), rtol=1e-5, atol=1e-6)


def compare_on_gpu(
    h: Tensor, group: int, slope: float, weight: Tensor, repeats: Repeats | None = None, **small: int
) -> None:
    """Compare the combination times a matrix, and its gradients; all tensors are on the kernel's device.

    Args:
        h: [group · b, channels]; with ``repeats``, only the distinct rows.
        group: members of each group.
        slope: of the leaky ReLU.
        weight: [2 · channels, out].
        repeats: which rows are equal.
        small: the most groups of a small batch, if it is not the kernel's own.
    """
    h, weight = h.clone().requires_grad_(True), weight.clone().requires_grad_(True)
    index = None if repeats is None else repeats.index
    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        expected = plain_combine(h if index is None else h[index.long()], group, slope) @ weight
        coming = torch.randn(expected.shape, generator=torch.Generator().manual_seed(1)).to(h.device)
        of_h, of_weight = torch.autograd.grad(expected, (h, weight), coming)
        out, joined = gpu.forward(h.detach(), group, slope, weight.detach(), index, **small)
        back = gpu.backward(h.detach(), group, slope, weight.detach(), joined, coming, index, **small)
    finally:
        torch.set_float32_matmul_precision(precision)
    back_h = back[0] if repeats is None else segment_sum(back[0], repeats)
    assert_close([out, back_h, back[1]], [expected.detach(), of_h, of_weight], rtol=1e-4, atol=1e-4)


SHAPES = [(1, 3, 5, 2), (5, 7, 16, 3), (7, 33, 20, 41), (3, 70, 130, 17)]


@pytest.fixture(autouse=True)
def exact():
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    yield
    torch.set_float32_matmul_precision(before)


def draw(group: int, b: int, channels: int, out: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(group * b, channels, generator=generator), torch.randn(2 * channels, out, generator=generator)


@pytest.mark.parametrize("slope", [0.01, 1.0])
@pytest.mark.parametrize(("group", "b", "channels", "out"), SHAPES)
def test_cpu_equals_reference_with_its_gradient(group: int, b: int, channels: int, out: int, slope: float) -> None:
    compare_on_cpu(draw(group, b, channels, out)[0], group, slope)
    factors = (
        torch.rand(b, group, generator=torch.Generator().manual_seed(2)) * torch.tensor([0.0, 1.0] * group)[:group]
    )
    compare_on_cpu(draw(group, b, channels, out)[0], group, slope, factors=factors)


@pytest.mark.parametrize("most", [0, 1024])
@pytest.mark.parametrize("slope", [0.01, 1.0])
@pytest.mark.parametrize(("group", "b", "channels", "out"), SHAPES)
def test_gpu_equals_reference_with_its_gradients(
    group: int, b: int, channels: int, out: int, slope: float, most: int
) -> None:
    h, weight = (tensor.to(GPU) for tensor in draw(group, b, channels, out))
    compare_on_gpu(h, group, slope, weight, small=most)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_cpu_reads_repeated_rows_where_they_are(dtype: torch.dtype) -> None:
    index = torch.from_numpy(np.random.default_rng(0).integers(0, 9, 5 * 21)).to(dtype)
    h, weight = torch.randn(9, 12, requires_grad=True), torch.randn(24, 3)
    compare_on_cpu(h.detach(), 5, 0.1, index)
    whole = combine_project(h.index_select(0, index), 5, 0.1, weight)
    found = combine_project(h, 5, 0.1, weight, index)
    assert torch.equal(found, whole)
    coming = torch.randn(21, 3)
    torch.testing.assert_close(*(torch.autograd.grad(out, h, coming) for out in (found, whole)))


def test_gpu_reads_repeated_rows_where_they_are() -> None:
    rows = torch.from_numpy(np.random.default_rng(0).integers(0, 9, 5 * 21).astype(np.int32)).to(GPU)
    repeats = find_repeats(rows, 5 * 21, 9)[0]
    h = torch.randn(repeats.capacity, 12, device=GPU, requires_grad=True)
    weight = torch.randn(24, 3, device=GPU, requires_grad=True)
    compare_on_gpu(h.detach(), 5, 0.1, weight.detach(), repeats)
    if GPU.type == "cuda":
        coming = torch.randn(21, 3, device=GPU)
        expected = plain_combine(h[repeats.index.long()], 5, 0.1) @ weight
        fused = torch.autograd.grad(combine_project(h, 5, 0.1, weight, repeats.index, repeats), (h, weight), coming)
        torch.testing.assert_close(fused, torch.autograd.grad(expected, (h, weight), coming), rtol=1e-4, atol=1e-4)


def test_the_fused_function_differentiates() -> None:
    h, weight = (tensor.to(GPU).requires_grad_(True) for tensor in draw(3, 4, 6, 2))
    found = torch.autograd.grad(combine_project(h, 3, 0.1, weight).square().sum(), (h, weight))
    expected = torch.autograd.grad((plain_combine(h, 3, 0.1) @ weight).square().sum(), (h, weight))
    for one, two in zip(found, expected, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-4)


def test_other_types_take_the_plain_way() -> None:
    h, weight = (tensor.double() for tensor in draw(3, 4, 6, 2))
    assert combine_project(h, 3, 0.1, weight).dtype == torch.float64
