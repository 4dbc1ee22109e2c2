"""Compares the back ends of Adam with its reference; they raise AssertionError if they differ."""

from collections.abc import Sequence

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


def on_gpu(sizes: Sequence[int], decay: float, device: torch.device) -> None:
    """Compare some weights and their moments after a few steps with random gradients."""
    from mggcn.kernels.adam import gpu

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
