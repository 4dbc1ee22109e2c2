from collections.abc import Sequence

import pytest
import torch
from torch.testing import assert_close

from mggcn.kernels.adam import Adam
from mggcn.kernels.gpu import adam as gpu
from tests.gpu import GPU
from tests.reference import adam as reference

_STEPS, _LR = 5, 0.01


def compare_on_cpu(size: int, decay: float) -> None:
    """Compare the weights after a few steps with random gradients."""
    generator = torch.Generator().manual_seed(1)
    weight = torch.randn(size, generator=generator, requires_grad=True)
    expected, first, second = weight.detach().clone(), torch.zeros(size), torch.zeros(size)
    clock = torch.zeros(1)
    adam = Adam([weight], _LR, decay, clock)
    for number in range(1, 1 + _STEPS):
        weight.grad = torch.randn(size, generator=generator)
        reference.step(expected, weight.grad, first, second, number, _LR, decay)
        clock += 1
        adam.step()
    assert_close(weight.detach(), expected, rtol=1e-5, atol=1e-6)


def compare_on_gpu(sizes: Sequence[int], decay: float, device: torch.device) -> None:
    """Compare some weights and their moments after a few steps with random gradients."""
    generator = torch.Generator().manual_seed(1)
    expected = [[torch.randn(n, generator=generator), torch.zeros(n), torch.zeros(n)] for n in sizes]
    weights, firsts, seconds = ([t.clone().to(device) for t in tensors] for tensors in zip(*expected, strict=True))
    for number in range(1, 1 + _STEPS):
        gradients = [torch.randn(n, generator=generator) for n in sizes]
        for (weight, first, second), gradient in zip(expected, gradients, strict=True):
            reference.step(weight, gradient, first, second, number, _LR, decay)
        count = torch.tensor([float(number)], device=device)
        gpu.step(weights, [g.to(device) for g in gradients], firsts, seconds, count, _LR, decay)
    for found, wanted in zip(zip(weights, firsts, seconds, strict=True), expected, strict=True):
        assert_close([tensor.cpu() for tensor in found], wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_the_optimiser_follows_torchs(decay: float) -> None:
    generator = torch.Generator().manual_seed(0)
    start = [torch.randn(7, 5, generator=generator), torch.randn(300, generator=generator)]
    ours = [tensor.clone().requires_grad_(True) for tensor in start]
    theirs = [tensor.clone().requires_grad_(True) for tensor in start]
    clock = torch.zeros(1)
    mine, torchs = Adam(ours, 0.05, decay, clock), torch.optim.Adam(theirs, lr=0.05, weight_decay=decay)
    for _ in range(20):
        for one, two in zip(ours, theirs, strict=True):
            gradient = torch.randn(one.shape, generator=generator)
            one.grad, two.grad = gradient.clone(), gradient.clone()
        clock += 1
        mine.step()
        torchs.step()
    for one, two in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)
    mine.clear()
    assert ours[0].grad is None


@pytest.mark.parametrize("decay", [0.0, 0.01])
@pytest.mark.parametrize("sizes", [(1,), (1000,), (700, 3, 1025)])
def test_back_ends_equal_the_reference(sizes: tuple[int, ...], decay: float) -> None:
    for size in sizes:
        compare_on_cpu(size, decay)
    compare_on_gpu(sizes, decay, GPU)
