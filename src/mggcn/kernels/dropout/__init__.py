"""Dropout on the CPU: whether a value is dropped is a hash of (key, node, column), not the next number of a generator.

The rows of a node lose the same values wherever they are in a batch, dense or sparse, with any number of threads.
torch's own dropout draws its numbers one after the other, see ``benchmarks/dropout.py``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from mggcn.kernels import threads as threading
from mggcn.kernels.dropout import cpu
from mggcn.keys import Key

_WORK_A_CHUNK = 1 << 20


def dropout(x: Tensor, nodes: Tensor, share: float, key: Key, *, threads: int | None = None) -> Tensor:
    """Set a share of the values to zero and divide the others by 1 - share; differentiable in x.

    Args:
        x: [n, width] float32 rows on the CPU.
        nodes: [n] the node of each row, or another number that identifies it.
        share: in [0, 1).
        key: of this dropout.
        threads: all cores when None. The result does not depend on it.

    Returns:
        [n, width].
    """
    out: Tensor = _Dropout.apply(x, nodes, share, key, threads)  # type: ignore[no-untyped-call]
    return out


class _Dropout(torch.autograd.Function):
    """The gradient is the dropout of the incoming gradient by the same key, so nothing but the key is kept."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, nodes: Tensor, share: float, key: Key, threads: int | None) -> Tensor:
        ctx.arguments = (nodes, share, key, threads)
        return _dropped(x, *ctx.arguments)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None, None]:
        return _dropped(gradients[0], *ctx.arguments), None, None, None, None


def _dropped(x: Tensor, nodes: Tensor, share: float, key: Key, threads: int | None) -> Tensor:
    out = torch.empty(x.shape)
    arrays = (x.detach().contiguous().numpy(), nodes.numpy(), *_numbers(share, key), out.numpy())
    _over_rows(lambda start, stop: cpu.dense(*arrays, start, stop), nodes.numel(), x.numel(), threads)
    return out


def dropout_sparse(x: csr_array, nodes: Tensor, share: float, key: Key, *, threads: int | None = None) -> csr_array:
    """The rows ``nodes`` of a sparse matrix without a share of their entries, and the others divided by 1 - share.

    Args:
        x: [num_nodes, width] float32.
        nodes: [n].
        share: in [0, 1).
        key: of this dropout.
        threads: all cores when None. The result does not depend on it.

    Returns:
        [n, width], with the entries that are kept.
    """
    rows, starts = nodes.numpy(), np.zeros(nodes.numel() + 1, np.int64)
    np.cumsum(np.diff(x.indptr)[rows], out=starts[1:])
    work = int(starts[-1])
    kept = (np.empty(work, x.indices.dtype), np.empty(work, x.data.dtype))
    indptr = np.zeros(rows.size + 1, x.indptr.dtype)
    keep = (x.indptr, x.indices, x.data, rows, *_numbers(share, key), starts, *kept, indptr[1:])
    _over_rows(lambda start, stop: cpu.keep(*keep, start, stop), rows.size, work, threads)
    np.cumsum(indptr, out=indptr)
    indices, data = (np.empty(indptr[-1], array.dtype) for array in kept)
    pack = (starts, *kept, indptr, indices, data)
    _over_rows(lambda start, stop: cpu.pack(*pack, start, stop), rows.size, work, threads)
    return csr_array((data, indices, indptr), shape=(rows.size, x.shape[1]))


def _numbers(share: float, key: Key) -> tuple[np.uint64, np.uint32, np.float32]:
    """The key, the least 32-bit number that keeps a value, and the factor of kept values."""
    return np.uint64(key.value), np.uint32(share * 2**32), np.float32(1 / (1 - share))


def _over_rows(fill: Callable[[int, int], None], num_rows: int, work: int, threads: int | None) -> None:
    """Small work runs without threads, which cost more than they save."""
    chunks = max(1, work // _WORK_A_CHUNK)
    threading.over_ranges(fill, num_rows, chunk=max(1, -(-num_rows // chunks)), threads=threads)
