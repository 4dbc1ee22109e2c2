import numpy as np
import pytest
import torch

from mggcn.kernels.combine import combine, cpu, gpu, reference
from tests.gpu import GPU


@pytest.mark.parametrize("slope", [0.01, 1.0])
@pytest.mark.parametrize(("group", "b", "channels"), [(1, 3, 5), (5, 7, 16), (7, 33, 3)])
def test_every_back_end_equals_the_reference_with_its_gradient(group: int, b: int, channels: int, slope: float) -> None:
    generator = torch.Generator().manual_seed(0)
    h = torch.randn(group * b, channels, generator=generator, requires_grad=True)
    gradient = torch.randn(b, 2 * channels, generator=generator)
    expected = reference.combine(h, group, slope)
    (expected_gradient,) = torch.autograd.grad(expected, h, gradient)

    for module, device in ((cpu, torch.device("cpu")), (gpu, GPU)):
        out = torch.full((b, 2 * channels), float("nan"), device=device)
        back = torch.full((group * b, channels), float("nan"), device=device)
        given, coming = h.detach().to(device), gradient.to(device)
        if module is cpu:
            cpu.forward(given.numpy(), group, np.float32(slope), out.numpy())
            cpu.backward(given.numpy(), group, np.float32(slope), coming.numpy(), back.numpy())
        else:
            gpu.forward(given, group, slope, out)
            gpu.backward(given, group, slope, coming, back)
        torch.testing.assert_close(out.cpu(), expected.detach())
        torch.testing.assert_close(back.cpu(), expected_gradient)


def test_the_fused_function_differentiates() -> None:
    h = torch.randn(12, 4, requires_grad=True)
    (found,) = torch.autograd.grad(combine(h, 3, 0.1).square().sum(), h)
    (expected,) = torch.autograd.grad(reference.combine(h, 3, 0.1).square().sum(), h)
    torch.testing.assert_close(found, expected)


def test_other_types_take_the_plain_way() -> None:
    h = torch.randn(6, 4, dtype=torch.float64)
    assert combine(h, 3, 0.1).dtype == torch.float64
