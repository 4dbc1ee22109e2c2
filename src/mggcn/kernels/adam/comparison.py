"""Compares the back ends of Adam with its reference; they raise AssertionError if they differ."""

import torch
from torch.testing import assert_close

from mggcn.kernels.adam import Adam, reference

_STEPS, _LR = 5, 0.01


def on_cpu(size: int, decay: float) -> None:
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


def on_gpu(size: int, decay: float, device: torch.device) -> None:
    """Compare the weights and both moments after a few steps with random gradients."""
    from mggcn.kernels.adam import gpu

    generator = torch.Generator().manual_seed(1)
    expected = [torch.randn(size, generator=generator), torch.zeros(size), torch.zeros(size)]
    weight, first, second = (tensor.clone().to(device) for tensor in expected)
    for number in range(1, 1 + _STEPS):
        gradient = torch.randn(size, generator=generator)
        reference.step(expected[0], gradient, expected[1], expected[2], number, _LR, decay)
        count = torch.tensor([float(number)], device=device)
        gpu.step(weight, gradient.to(device), first, second, count, _LR, decay)
    assert_close([weight.cpu(), first.cpu(), second.cpu()], expected, rtol=1e-4, atol=1e-6)
