import pytest
import torch

from mggcn.kernels.loss import comparison, cross_entropy, reference
from tests.gpu import GPU


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("b", "classes"), [(1, 2), (7, 3), (33, 41)])
def test_every_back_end_equals_the_reference(b: int, classes: int, weighted: bool, smoothing: float) -> None:
    comparison.on_cpu(b, classes, weighted=weighted, smoothing=smoothing)
    comparison.on_gpu(b, classes, weighted=weighted, smoothing=smoothing, device=GPU)


def test_the_tally_grows() -> None:
    tally = torch.zeros(2, dtype=torch.float64)
    scores, labels, targets = torch.randn(4, 3), torch.tensor([0, 1, 2]), torch.tensor([2, 0, 1, 1])
    loss, gradient = reference.cross_entropy(scores, labels[targets], None)
    for _ in range(2):
        torch.testing.assert_close(cross_entropy(scores, labels, targets, None, tally), gradient)
    assert tally.tolist() == pytest.approx([8 * float(loss), 2], rel=1e-5)
