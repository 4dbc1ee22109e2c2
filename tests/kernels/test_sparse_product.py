import numpy as np
import pytest
import torch
from scipy.sparse import csr_array, random_array
from torch import Tensor

from mggcn.kernels.gather import sparse_product
from tests.reference import sparse_product as reference


def compare_on_cpu(x: csr_array, nodes: Tensor, channels: int) -> None:
    """Compare the product of the rows ``nodes`` with a random matrix, and the gradient of that matrix."""
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(x.shape[1], channels, generator=generator, requires_grad=True)
    coming = torch.randn(nodes.numel(), channels, generator=generator)
    out = sparse_product(x, nodes, weight)
    (back,) = torch.autograd.grad(out, weight, coming)
    expected = reference.product(x, nodes.numpy(), weight.detach().numpy())
    np.testing.assert_allclose(out.detach().numpy(), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(back, reference.gradient(x, nodes.numpy(), coming.numpy()), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("count", "channels"), [(1, 1), (70, 16), (33, 130)])
@pytest.mark.parametrize("density", [0.0, 0.05, 0.6])
def test_cpu_equals_reference_with_its_gradient(count: int, channels: int, density: float) -> None:
    rng = np.random.default_rng(0)
    x = random_array((50, 40), density=density, format="csr", dtype=np.float32, rng=rng)
    nodes = torch.from_numpy(rng.integers(0, 50, count).astype(np.int32))
    compare_on_cpu(x, nodes, channels)
