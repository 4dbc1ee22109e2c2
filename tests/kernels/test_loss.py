from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from mggcn.kernels.gpu import loss as gpu
from mggcn.kernels.loss import cross_entropy
from tests.gpu import GPU
from tests.reference import loss as reference


def compare_on_cpu(b: int, classes: int, *, weighted: bool, smoothing: float = 0.0) -> None:
    """Compare loss and gradient of random [b, classes] scores."""
    _compare(cross_entropy, torch.device("cpu"), torch.float64, b, classes, weighted, smoothing)


def compare_on_gpu(b: int, classes: int, *, weighted: bool, smoothing: float = 0.0, device: torch.device) -> None:
    """Compare loss and gradient of random [b, classes] scores."""
    _compare(_on_gpu, device, torch.float32, b, classes, weighted, smoothing)


def _on_gpu(scores: torch.Tensor, *arguments: Any) -> torch.Tensor:
    """The back end for GPUs, also where the interpreter runs it."""
    gradient = torch.full_like(scores, float("nan"))
    gpu.cross_entropy(scores, *arguments[:-1], gradient, arguments[-1])
    return gradient


def _compare(
    back_end: Callable[..., torch.Tensor],
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
    arguments = [tensor.to(device) for tensor in (scores, labels, targets)]
    gradient = back_end(*arguments, None if weight is None else weight.to(device), tally, smoothing)
    assert_close(tally.cpu().float(), torch.tensor([5 + b * float(loss), 6]), rtol=1e-4, atol=0)
    assert_close(gradient.cpu(), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("b", "classes"), [(1, 2), (7, 3), (33, 41)])
def test_every_back_end_equals_the_reference(b: int, classes: int, weighted: bool, smoothing: float) -> None:
    compare_on_cpu(b, classes, weighted=weighted, smoothing=smoothing)
    compare_on_gpu(b, classes, weighted=weighted, smoothing=smoothing, device=GPU)


def test_the_tally_grows() -> None:
    tally = torch.zeros(2, dtype=torch.float64)
    scores, labels, targets = torch.randn(4, 3), torch.tensor([0, 1, 2]), torch.tensor([2, 0, 1, 1])
    loss, gradient = reference.cross_entropy(scores, labels[targets], None)
    for _ in range(2):
        torch.testing.assert_close(cross_entropy(scores, labels, targets, None, tally), gradient)
    assert tally.tolist() == pytest.approx([8 * float(loss), 2], rel=1e-5)
