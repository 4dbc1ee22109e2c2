import numpy as np
import pytest
import torch

from mggcn.kernels.combine import combine_project, comparison, gpu, reference
from mggcn.sampling.mix_grained_gpu import find_repeats
from tests.gpu import GPU

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
    comparison.on_cpu(draw(group, b, channels, out)[0], group, slope)


@pytest.mark.parametrize("most", [0, 1024])
@pytest.mark.parametrize("slope", [0.01, 1.0])
@pytest.mark.parametrize(("group", "b", "channels", "out"), SHAPES)
def test_gpu_equals_reference_with_its_gradients(
    group: int, b: int, channels: int, out: int, slope: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "_SMALL", most)
    h, weight = (tensor.to(GPU) for tensor in draw(group, b, channels, out))
    comparison.on_gpu(h, group, slope, weight)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_cpu_reads_repeated_rows_where_they_are(dtype: torch.dtype) -> None:
    index = torch.from_numpy(np.random.default_rng(0).integers(0, 9, 5 * 21)).to(dtype)
    h, weight = torch.randn(9, 12, requires_grad=True), torch.randn(24, 3)
    comparison.on_cpu(h.detach(), 5, 0.1, index)
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
    comparison.on_gpu(h.detach(), 5, 0.1, weight.detach(), repeats)
    if GPU.type == "cuda":
        coming = torch.randn(21, 3, device=GPU)
        expected = reference.combine_project(h[repeats.index.long()], 5, 0.1, weight)
        fused = torch.autograd.grad(combine_project(h, 5, 0.1, weight, repeats.index, repeats), (h, weight), coming)
        torch.testing.assert_close(fused, torch.autograd.grad(expected, (h, weight), coming), rtol=1e-4, atol=1e-4)


def test_the_fused_function_differentiates() -> None:
    h, weight = (tensor.to(GPU).requires_grad_(True) for tensor in draw(3, 4, 6, 2))
    found = torch.autograd.grad(combine_project(h, 3, 0.1, weight).square().sum(), (h, weight))
    expected = torch.autograd.grad(reference.combine_project(h, 3, 0.1, weight).square().sum(), (h, weight))
    for one, two in zip(found, expected, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-4)


def test_other_types_take_the_plain_way() -> None:
    h, weight = (tensor.double() for tensor in draw(3, 4, 6, 2))
    assert combine_project(h, 3, 0.1, weight).dtype == torch.float64
