import numpy as np
import pytest
import torch

from mggcn.kernels.combine import combine_project, cpu, gpu, reference
from mggcn.kernels.expand import segment_sum
from mggcn.sampling.mix_grained_gpu import find_repeats
from tests.gpu import GPU

SHAPES = [(1, 3, 5, 2), (5, 7, 16, 3), (7, 33, 20, 41), (3, 70, 130, 17)]


@pytest.fixture(autouse=True)
def exact():
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    yield
    torch.set_float32_matmul_precision(before)


def draw(group: int, b: int, channels: int, out: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    h = torch.randn(group * b, channels, generator=generator)
    return h, torch.randn(2 * channels, out, generator=generator), torch.randn(b, out, generator=generator)


@pytest.mark.parametrize("slope", [0.01, 1.0])
@pytest.mark.parametrize(("group", "b", "channels", "out"), SHAPES)
def test_cpu_equals_reference_with_its_gradient(group: int, b: int, channels: int, out: int, slope: float) -> None:
    h = draw(group, b, channels, out)[0].requires_grad_(True)
    coming = torch.randn(b, 2 * channels)
    expected = reference.combine(h, group, slope)
    (of_h,) = torch.autograd.grad(expected, h, coming)
    found, back = np.full((b, 2 * channels), np.nan, np.float32), np.full(h.shape, np.nan, np.float32)
    cpu.forward(h.detach().numpy(), group, np.float32(slope), found)
    cpu.backward(h.detach().numpy(), group, np.float32(slope), coming.numpy(), back)
    np.testing.assert_allclose(found, expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(back, of_h.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("most", [0, 1024])
@pytest.mark.parametrize("slope", [0.01, 1.0])
@pytest.mark.parametrize(("group", "b", "channels", "out"), SHAPES)
def test_gpu_equals_reference_with_its_gradients(
    group: int, b: int, channels: int, out: int, slope: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "_SMALL", most)
    h, weight, coming = (tensor.to(GPU) for tensor in draw(group, b, channels, out))
    h.requires_grad_(True)
    weight.requires_grad_(True)
    expected = reference.combine_project(h, group, slope, weight)
    of_h, of_weight = torch.autograd.grad(expected, (h, weight), coming)
    found, joined = gpu.forward(h.detach(), group, slope, weight.detach())
    back = gpu.backward(h.detach(), group, slope, weight.detach(), joined, coming)
    for one, two in ((found, expected.detach()), (back[0], of_h), (back[1], of_weight)):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-4)


def test_gpu_reads_repeated_rows_where_they_are() -> None:
    rows = torch.from_numpy(np.random.default_rng(0).integers(0, 9, 5 * 21).astype(np.int32)).to(GPU)
    repeats = find_repeats(rows, 5 * 21, 9)[0]
    h = torch.randn(repeats.capacity, 12, device=GPU, requires_grad=True)
    weight = torch.randn(24, 3, device=GPU, requires_grad=True)
    coming = torch.randn(21, 3, device=GPU)
    expected = reference.combine_project(h[repeats.index.long()], 5, 0.1, weight)
    of_h, of_weight = torch.autograd.grad(expected, (h, weight), coming)
    found, joined = gpu.forward(h.detach(), 5, 0.1, weight.detach(), repeats.index)
    back = gpu.backward(h.detach(), 5, 0.1, weight.detach(), joined, coming, repeats.index)
    torch.testing.assert_close(found, expected.detach(), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(segment_sum(back[0], repeats), of_h, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(back[1], of_weight, rtol=1e-4, atol=1e-4)
    if GPU.type == "cuda":
        fused = torch.autograd.grad(combine_project(h, 5, 0.1, weight, repeats), (h, weight), coming)
        torch.testing.assert_close(fused, (of_h, of_weight), rtol=1e-4, atol=1e-4)


def test_the_fused_function_differentiates() -> None:
    h, weight, _ = (tensor.to(GPU).requires_grad_(True) for tensor in draw(3, 4, 6, 2))
    found = torch.autograd.grad(combine_project(h, 3, 0.1, weight).square().sum(), (h, weight))
    expected = torch.autograd.grad(reference.combine_project(h, 3, 0.1, weight).square().sum(), (h, weight))
    for one, two in zip(found, expected, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-4)


def test_other_types_take_the_plain_way() -> None:
    h, weight, _ = (tensor.double() for tensor in draw(3, 4, 6, 2))
    assert combine_project(h, 3, 0.1, weight).dtype == torch.float64
