import pytest
import torch

from mggcn.kernels.loss import cpu, cross_entropy, gpu, reference
from tests.gpu import GPU


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("b", "classes"), [(1, 2), (7, 3), (33, 41)])
def test_every_back_end_equals_the_reference(b: int, classes: int, weighted: bool, smoothing: float) -> None:
    generator = torch.Generator().manual_seed(0)
    scores = 30 * torch.randn(b, classes, generator=generator)
    labels = torch.randint(0, classes, (50,), generator=generator)
    targets = torch.randint(0, 50, (b,), generator=generator, dtype=torch.int32)
    weight = torch.rand(classes, generator=generator) + 0.1 if weighted else None
    loss, gradient = reference.cross_entropy(scores, labels[targets.long()], weight, smoothing)

    for module, device in ((cpu, torch.device("cpu")), (gpu, GPU)):
        tally = torch.full((2,), 5.0, device=device, dtype=torch.float64 if module is cpu else torch.float32)
        poisoned = torch.full((b, classes), float("nan"), device=device)
        given = [tensor.to(device) for tensor in (scores, labels, targets)]
        module.cross_entropy(*given, None if weight is None else weight.to(device), tally, poisoned, smoothing)
        assert tally.tolist() == pytest.approx([5 + b * float(loss), 6], rel=1e-4)
        torch.testing.assert_close(poisoned.cpu(), gradient, rtol=1e-4, atol=1e-6)


def test_the_tally_grows() -> None:
    tally = torch.zeros(2, dtype=torch.float64)
    scores, labels, targets = torch.randn(4, 3), torch.tensor([0, 1, 2]), torch.tensor([2, 0, 1, 1])
    loss, gradient = reference.cross_entropy(scores, labels[targets], None)
    for _ in range(2):
        torch.testing.assert_close(cross_entropy(scores, labels, targets, None, tally), gradient)
    assert tally.tolist() == pytest.approx([8 * float(loss), 2], rel=1e-5)
