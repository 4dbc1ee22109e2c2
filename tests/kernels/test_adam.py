import pytest
import torch

from mggcn.kernels.adam import Adam, gpu, reference


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
@pytest.mark.parametrize("size", [1, 1000])
def test_gpu_equals_reference(size: int, decay: float) -> None:
    from tests.gpu import GPU

    generator = torch.Generator().manual_seed(1)
    plain = [torch.randn(size, generator=generator), torch.zeros(size), torch.zeros(size)]
    fused = [tensor.clone().to(GPU) for tensor in plain]
    for number in range(1, 6):
        gradient = torch.randn(size, generator=generator)
        reference.step(plain[0], gradient, plain[1], plain[2], number, 0.01, decay)
        count = torch.tensor([float(number)], device=GPU)
        gpu.step(fused[0], gradient.to(GPU), fused[1], fused[2], count, 0.01, decay)
    for one, two in zip(plain, fused, strict=True):
        torch.testing.assert_close(one, two.cpu(), rtol=1e-4, atol=1e-6)


def test_cpu_equals_reference() -> None:
    weight = torch.randn(33, 3, requires_grad=True)
    plain = [weight.detach().clone(), torch.zeros(33, 3), torch.zeros(33, 3)]
    clock = torch.zeros(1)
    adam = Adam([weight], 0.02, 0.1, clock)
    for number in range(1, 6):
        weight.grad = torch.randn(33, 3)
        reference.step(plain[0], weight.grad, plain[1], plain[2], number, 0.02, 0.1)
        clock += 1
        adam.step()
    torch.testing.assert_close(weight.detach(), plain[0], rtol=1e-5, atol=1e-6)
