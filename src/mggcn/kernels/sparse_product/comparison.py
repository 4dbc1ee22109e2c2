"""Compares the back end of the sparse product with its reference; raises AssertionError if they differ."""

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from mggcn.kernels.sparse_product import reference, sparse_product


def on_cpu(x: csr_array, nodes: Tensor, channels: int) -> None:
    """Compare the product of the rows ``nodes`` with a random matrix, and the gradient of that matrix."""
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(x.shape[1], channels, generator=generator, requires_grad=True)
    coming = torch.randn(nodes.numel(), channels, generator=generator)
    out = sparse_product(x, nodes, weight)
    (back,) = torch.autograd.grad(out, weight, coming)
    expected = reference.product(x, nodes.numpy(), weight.detach().numpy())
    np.testing.assert_allclose(out.detach().numpy(), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(back, reference.gradient(x, nodes.numpy(), coming.numpy()), rtol=1e-4, atol=1e-5)
