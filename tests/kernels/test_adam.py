import pytest
import torch

from mggcn.kernels.adam import Adam, comparison
from tests.gpu import GPU


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
        comparison.on_cpu(size, decay)
    comparison.on_gpu(sizes, decay, GPU)
