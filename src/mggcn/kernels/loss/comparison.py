"""Compares the back ends of the cross-entropy with its reference; they raise AssertionError if they differ."""

from types import ModuleType

import torch
from torch.testing import assert_close

from mggcn.kernels.loss import cpu, reference


def on_cpu(b: int, classes: int, *, weighted: bool, smoothing: float = 0.0) -> None:
    """Compare loss and gradient of random [b, classes] scores."""
    _compare(cpu, torch.device("cpu"), torch.float64, b, classes, weighted, smoothing)


def on_gpu(b: int, classes: int, *, weighted: bool, smoothing: float = 0.0, device: torch.device) -> None:
    """Compare loss and gradient of random [b, classes] scores."""
    from mggcn.kernels.loss import gpu

    _compare(gpu, device, torch.float32, b, classes, weighted, smoothing)


def _compare(
    back_end: ModuleType,
    device: torch.device,
    tallied: torch.dtype,
    b: int,
    classes: int,
    weighted: bool,
    smoothing: float,
) -> None:
    generator = torch.Generator().manual_seed(0)
    scores = 30 * torch.randn(b, classes, generator=generator)
    labels = torch.randint(0, classes, (50,), generator=generator)
    targets = torch.randint(0, 50, (b,), generator=generator, dtype=torch.int32)
    weight = torch.rand(classes, generator=generator) + 0.1 if weighted else None
    loss, expected = reference.cross_entropy(scores, labels[targets.long()], weight, smoothing)

    tally = torch.full((2,), 5.0, device=device, dtype=tallied)
    gradient = torch.full((b, classes), float("nan"), device=device)
    arguments = [tensor.to(device) for tensor in (scores, labels, targets)]
    back_end.cross_entropy(*arguments, None if weight is None else weight.to(device), tally, gradient, smoothing)
    assert_close(tally.cpu().float(), torch.tensor([5 + b * float(loss), 6]), rtol=1e-4, atol=0)
    assert_close(gradient.cpu(), expected, rtol=1e-4, atol=1e-6)
