"""Sums over edges in Triton: a program adds up the senders of one receiver over a range of columns, in order."""

import triton
import triton.language as tl
from torch import Tensor

_COLUMNS = 128
_EDGES = 16


@triton.jit
def _sums(indptr, indices, factors, x, out, width, COLUMNS: tl.constexpr, EDGES: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = column < width
    start = tl.load(indptr + row)
    stop = tl.load(indptr + row + 1)
    total = tl.zeros([EDGES, COLUMNS], tl.float32)
    for first in range(start, stop, EDGES):
        edge = first + tl.arange(0, EDGES)
        sender = tl.load(indices + edge, mask=edge < stop, other=0).to(tl.int64)
        factor = tl.load(factors + edge, mask=edge < stop, other=0.0).to(tl.float32)
        mask = (edge < stop)[:, None] & inside[None, :]
        total += factor[:, None] * tl.load(x + sender[:, None] * width + column[None, :], mask=mask, other=0.0)
    tl.store(out + row * width + column, tl.sum(total, axis=0), mask=inside)


@triton.jit
def _dots(indptr, indices, x, gradient, out, width, COLUMNS: tl.constexpr, EDGES: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    start = tl.load(indptr + row)
    stop = tl.load(indptr + row + 1)
    for first in range(start, stop, EDGES):
        edge = first + tl.arange(0, EDGES)
        sender = tl.load(indices + edge, mask=edge < stop, other=0).to(tl.int64)
        total = tl.zeros([EDGES], tl.float32)
        for begin in range(0, width, COLUMNS):
            column = begin + tl.arange(0, COLUMNS)
            inside = column < width
            coming = tl.load(gradient + row * width + column, mask=inside, other=0.0).to(tl.float32)
            mask = (edge < stop)[:, None] & inside[None, :]
            values = tl.load(x + sender[:, None] * width + column[None, :], mask=mask, other=0.0).to(tl.float32)
            total += tl.sum(values * coming[None, :], axis=1)
        tl.store(out + edge, total, mask=edge < stop)


def sums(indptr: Tensor, indices: Tensor, factors: Tensor, x: Tensor, out: Tensor) -> None:
    """Fill ``out`` [rows, width] with the sum of factor times x over the edges of each row."""
    rows, width = out.shape
    if not out.numel():
        return
    columns = min(_COLUMNS, max(16, triton.next_power_of_2(width)))
    grid = (rows, triton.cdiv(width, columns))
    _sums[grid](indptr, indices, factors, x, out, width, COLUMNS=columns, EDGES=_EDGES, num_warps=2)


def dots(indptr: Tensor, indices: Tensor, x: Tensor, gradient: Tensor, out: Tensor) -> None:
    """Fill ``out`` for every edge: the sender's x times the receiver's gradient."""
    rows, width = gradient.shape
    if not out.numel():
        return
    columns = min(_COLUMNS, max(16, triton.next_power_of_2(width)))
    _dots[(rows,)](indptr, indices, x, gradient, out, width, COLUMNS=columns, EDGES=_EDGES, num_warps=2)
