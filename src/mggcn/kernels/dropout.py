"""Dropout on the CPU: whether a value is dropped is a hash of (key, node, column), not the next number of a generator.

The rows of a node lose the same values wherever they are in a batch, dense or sparse, with any number of threads.
torch's own dropout draws its numbers one after the other, see ``benchmarks/dropout.py``.

The value of node v in column c is dropped if 32 bits of a hash of (key, v, c // 2), the low ones for even c and the
high ones for odd c, are less than share · 2³²; the other values are divided by 1 - share. The hashes of a row are
computed first, in a loop that uses vector instructions.
"""

from functools import partial
from typing import Any

import numpy as np
import torch
from numba import njit
from scipy.sparse import csr_array
from torch import Tensor

from mggcn.kernels import threads as threading
from mggcn.kernels._compiled import compiled, fold
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
    out: Tensor = _Dropout.apply(x, nodes, share, key, threads)
    return out


class _Dropout(torch.autograd.Function):
    """The gradient is the dropout of the incoming gradient by the same key, so nothing but the key is kept."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *arguments: Any) -> Tensor:
        ctx.arguments = arguments
        return _dropped(x, *arguments)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return _dropped(gradients[0], *ctx.arguments), *[None] * len(ctx.arguments)


def _dropped(x: Tensor, nodes: Tensor, share: float, key: Key, threads: int | None) -> Tensor:
    out = torch.empty(x.shape)
    _fill(x.detach().contiguous(), torch.arange(nodes.numel()), nodes, share, key, out, threads)
    return out


def dropout_gathered(
    table: Tensor, width: int, nodes: Tensor, share: float, key: Key, *, threads: int | None = None
) -> Tensor:
    """[n, width] the rows ``nodes`` [n] of a float32 matrix up to a width, after :func:`dropout`."""
    out = torch.empty(nodes.numel(), width)
    _fill(table, nodes, nodes, share, key, out, threads)
    return out


def _fill(x: Tensor, rows: Tensor, nodes: Tensor, share: float, key: Key, out: Tensor, threads: int | None) -> None:
    arrays = (x.numpy(), rows.numpy(), nodes.numpy(), *_numbers(share, key), out.numpy())
    threading.over_rows(partial(_dense, *arrays), nodes.numel(), out.numel(), chunk=_WORK_A_CHUNK, threads=threads)


def dropout_sparse(x: csr_array, nodes: Tensor, share: float, key: Key, *, threads: int | None = None) -> csr_array:
    """[n, width] the rows ``nodes`` [n] of a sparse matrix, with the entries that :func:`dropout` keeps."""
    rows, starts = nodes.numpy(), np.zeros(nodes.numel() + 1, np.int64)
    np.cumsum(np.diff(x.indptr)[rows], out=starts[1:])
    work = int(starts[-1])
    kept = (np.empty(work, x.indices.dtype), np.empty(work, x.data.dtype))
    indptr = np.zeros(rows.size + 1, x.indptr.dtype)
    keep = (x.indptr, x.indices, x.data, rows, *_numbers(share, key), starts, *kept, indptr[1:])
    threading.over_rows(partial(_keep, *keep), rows.size, work, chunk=_WORK_A_CHUNK, threads=threads)
    np.cumsum(indptr, out=indptr)
    indices, data = (np.empty(indptr[-1], array.dtype) for array in kept)
    pack = (starts, *kept, indptr, indices, data)
    threading.over_rows(partial(_pack, *pack), rows.size, work, chunk=_WORK_A_CHUNK, threads=threads)
    return csr_array((data, indices, indptr), shape=(rows.size, x.shape[1]))


def _numbers(share: float, key: Key) -> tuple[np.uint64, np.uint32, np.float32]:
    """The key, the least 32-bit number that keeps a value, and the factor of kept values."""
    return np.uint64(key.value), np.uint32(share * 2**32), np.float32(1 / (1 - share))


_ONE, _LOW, _S32 = np.uint64(1), np.uint64(0xFFFFFFFF), np.uint64(32)


@compiled
def _dense(x, rows, nodes, key, limit, scale, out, start, stop):
    """Fill rows start … stop of ``out`` with the rows ``rows`` of x after dropout."""
    width = out.shape[1]
    hashes = np.empty((width + 1) // 2, np.uint64)
    draws = hashes.view(np.uint32)
    for row in range(start, stop):
        stream = fold(key, nodes[row])
        for pair in range(hashes.size):
            hashes[pair] = fold(stream, pair)
        x_row, out_row = x[rows[row]], out[row]
        for c in range(width):
            out_row[c] = scale * x_row[c] if draws[c] >= limit else np.float32(0)


@njit(inline="always")
def _is_kept(stream, column, limit):
    draw = fold(stream, column >> 1) >> (_S32 * (np.uint64(column) & _ONE))
    return (draw & _LOW) >= limit


@compiled
def _keep(indptr, indices, data, nodes, key, limit, scale, starts, kept_indices, kept, counts, start, stop):
    """Write the kept entries of rows start … stop from ``starts`` on, and count them.

    Every entry is written, and the next one overwrites a dropped one: a branch would be mispredicted too often.
    """
    for row in range(start, stop):
        stream, first, count = fold(key, nodes[row]), starts[row], 0
        begin, end = indptr[nodes[row]], indptr[nodes[row] + 1]
        columns, values, is_kept = indices[begin:end], data[begin:end], np.empty(end - begin, np.uint8)
        for i in range(columns.size):
            is_kept[i] = _is_kept(stream, columns[i], limit)
        for i in range(columns.size):
            kept_indices[first + count], kept[first + count] = columns[i], scale * values[i]
            count += is_kept[i]
        counts[row] = count


@compiled
def _pack(starts, kept_indices, kept, indptr, indices, data, start, stop):
    """Copy the kept entries of rows start … stop, which begin at ``starts``, to where ``indptr`` has them begin."""
    for row in range(start, stop):
        source, target = starts[row], indptr[row]
        for i in range(indptr[row + 1] - target):
            indices[target + i], data[target + i] = kept_indices[source + i], kept[source + i]
