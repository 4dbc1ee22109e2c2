import numpy as np
import pytest
import torch
from scipy.sparse import random_array

from mggcn.kernels.sparse_product import comparison


@pytest.mark.parametrize(("count", "channels"), [(1, 1), (70, 16), (33, 130)])
@pytest.mark.parametrize("density", [0.0, 0.05, 0.6])
def test_cpu_equals_reference_with_its_gradient(count: int, channels: int, density: float) -> None:
    rng = np.random.default_rng(0)
    x = random_array((50, 40), density=density, format="csr", dtype=np.float32, rng=rng)
    nodes = torch.from_numpy(rng.integers(0, 50, count).astype(np.int32))
    comparison.on_cpu(x, nodes, channels)
