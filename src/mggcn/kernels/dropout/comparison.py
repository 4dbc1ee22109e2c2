"""Compares dropout of dense and sparse rows with its reference, bit for bit; raises AssertionError if they differ."""

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from mggcn.kernels.dropout import dropout, dropout_sparse, reference
from mggcn.keys import Key


def on_cpu(x: csr_array, nodes: Tensor, share: float, key: Key, *, threads: int | None = None) -> None:
    """Compare dropout of the rows ``nodes`` of x, as a sparse matrix and as a dense one with its gradient."""
    rows = x[nodes.numpy()].toarray()
    expected = reference.dropout(rows, nodes.numpy(), share, key)
    leaf = torch.from_numpy(rows).requires_grad_()
    dense = dropout(leaf, nodes, share, key, threads=threads)
    coming = torch.randn(rows.shape, generator=torch.Generator().manual_seed(0))
    (back,) = torch.autograd.grad(dense, leaf, coming)
    sparse = dropout_sparse(x, nodes, share, key, threads=threads)
    np.testing.assert_array_equal(dense.detach().numpy(), expected)
    np.testing.assert_array_equal(back.numpy(), reference.dropout(coming.numpy(), nodes.numpy(), share, key))
    np.testing.assert_array_equal(sparse.toarray(), expected)
    np.testing.assert_array_equal(np.diff(sparse.indptr), np.count_nonzero(expected, axis=1))
