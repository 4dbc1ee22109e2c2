import pytest
import torch

from mggcn.inputs import DeviceInputs
from mggcn.kernels.gather_product import gather_product, gpu, reference
from tests.gpu import GPU


@pytest.fixture(autouse=True)
def exact():
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    yield
    torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("count", "width", "channels"), [(1, 3, 2), (70, 600, 16), (33, 40, 130), (400, 17, 7)])
def test_gpu_equals_reference_with_its_gradient(count: int, width: int, channels: int, dtype: torch.dtype) -> None:
    if dtype == torch.bfloat16 and GPU.type == "cpu":
        pytest.skip("Triton's interpreter has no bfloat16")
    generator = torch.Generator().manual_seed(0)
    parts = [
        torch.randn(50, width // 2 or 1, generator=generator),
        torch.randn(50, width - width // 2, generator=generator),
    ]
    inputs = DeviceInputs.of([part.to(GPU) for part in parts], dtype)
    assert inputs.table.stride(0) % 16 == 0
    table = torch.cat(parts, dim=1).to(dtype)
    nodes = torch.randint(0, 50, (count,), generator=generator, dtype=torch.int32)
    weight = torch.randn(inputs.width, channels, generator=generator)
    coming = torch.randn(count, channels, generator=generator)
    loose = {"rtol": 3e-2, "atol": 3e-1} if dtype == torch.bfloat16 else {"rtol": 1e-4, "atol": 1e-4}
    found = gpu.product(inputs.table, nodes.to(GPU), weight.to(GPU)).cpu()
    torch.testing.assert_close(found, reference.product(table, nodes, weight), **loose)
    back = gpu.gradient(inputs.table, nodes.to(GPU), coming.to(GPU)).cpu()
    torch.testing.assert_close(back, reference.gradient(table, nodes, coming), **loose)


def test_it_differentiates() -> None:
    table, nodes = torch.randn(20, 16, device=GPU), torch.tensor([3, 3, 19], device=GPU)
    weight = torch.randn(16, 4, device=GPU, requires_grad=True)
    (found,) = torch.autograd.grad(gather_product(table, nodes, weight).square().sum(), weight)
    (expected,) = torch.autograd.grad(reference.product(table, nodes, weight).square().sum(), weight)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
