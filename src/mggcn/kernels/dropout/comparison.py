"""Compares dropout of dense and sparse rows with its reference, bit for bit; raises AssertionError if they differ."""

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from mggcn.kernels.dropout import dropout, dropout_sparse, reference
from mggcn.keys import Key


def on_cpu(x: csr_array, nodes: Tensor, share: float, key: Key, *, threads: int | None = None) -> None:
    """Compare dropout of the rows ``nodes`` of x, as a sparse matrix and as a dense one."""
    rows = x[nodes.numpy()].toarray()
    expected = reference.dropout(rows, nodes.numpy(), share, key)
    dense = dropout(torch.from_numpy(rows), nodes, share, key, threads=threads)
    sparse = dropout_sparse(x, nodes, share, key, threads=threads)
    np.testing.assert_array_equal(dense.numpy(), expected)
    np.testing.assert_array_equal(sparse.toarray(), expected)
    np.testing.assert_array_equal(np.diff(sparse.indptr), np.count_nonzero(expected, axis=1))
