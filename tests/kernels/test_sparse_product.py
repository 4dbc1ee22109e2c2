import numpy as np
import pytest
import torch
from scipy.sparse import random_array

from mggcn.kernels.sparse_product import reference, sparse_product


@pytest.mark.parametrize(("count", "channels"), [(1, 1), (70, 16), (33, 130)])
@pytest.mark.parametrize("density", [0.0, 0.05, 0.6])
def test_cpu_equals_reference_with_its_gradient(count: int, channels: int, density: float) -> None:
    rng = np.random.default_rng(0)
    x = random_array((50, 40), density=density, format="csr", dtype=np.float32, rng=rng)
    nodes = torch.from_numpy(rng.integers(0, 50, count).astype(np.int32))
    weight = torch.randn(40, channels, requires_grad=True)
    coming = torch.randn(count, channels)
    found = sparse_product(x, nodes, weight)
    np.testing.assert_allclose(
        found.detach(), reference.product(x, nodes.numpy(), weight.detach().numpy()), rtol=1e-4, atol=1e-5
    )
    (back,) = torch.autograd.grad(found, weight, coming)
    np.testing.assert_allclose(back, reference.gradient(x, nodes.numpy(), coming.numpy()), rtol=1e-4, atol=1e-5)
