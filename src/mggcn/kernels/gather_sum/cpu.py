"""Sums over edges in numba, in the order of the edges; those that run on several threads write each row on one."""

from typing import Any

import numpy as np
from numba import njit

from mggcn.kernels._compiled import AnyInts, Floats, compiled


@njit(inline="always")  # type: ignore[untyped-decorator]
def fill_row(indices: Any, factors: Any, first: Any, last: Any, x: Any, out_row: Any) -> None:
    """Fill a row with the sum of factor times x over the edges first … last.

    Four edges at a time read and write the row once; terms are added in the same order as one by one.
    """
    channels = x.shape[1]
    out_row[:] = 0
    whole = last - (last - first) % 4
    for edge in range(first, whole, 4):
        f0, f1, f2, f3 = factors[edge], factors[edge + 1], factors[edge + 2], factors[edge + 3]
        x0, x1, x2, x3 = (x[indices[edge]], x[indices[edge + 1]], x[indices[edge + 2]], x[indices[edge + 3]])
        for c in range(channels):
            out_row[c] = out_row[c] + f0 * x0[c] + f1 * x1[c] + f2 * x2[c] + f3 * x3[c]
    for edge in range(whole, last):
        factor, sender = factors[edge], x[indices[edge]]
        for c in range(channels):
            out_row[c] += factor * sender[c]


@compiled
def sums(indptr: AnyInts, indices: AnyInts, factors: Floats, x: Floats, out: Floats, start: int, stop: int) -> None:
    """Fill rows start … stop of ``out`` with the sum of factor times x over their edges."""
    for row in range(start, stop):
        fill_row(indices, factors, indptr[row], indptr[row + 1], x, out[row])


@compiled
def scatter(indptr: AnyInts, indices: AnyInts, factors: Floats, grad_out: Floats, out: Floats) -> None:
    """Add the gradients of the senders to ``out``: the sums over the transposed edges, in the same order."""
    channels = grad_out.shape[1]
    for row in range(grad_out.shape[0]):
        grad_row = grad_out[row]
        for edge in range(indptr[row], indptr[row + 1]):
            factor, sender = factors[edge], out[indices[edge]]
            for c in range(channels):
                sender[c] += factor * grad_row[c]


@compiled
def dots(indptr: AnyInts, indices: AnyInts, x: Floats, grad_out: Floats, out: Floats, start: int, stop: int) -> None:
    """Fill ``out`` for the edges of rows start … stop: the sender's x times the receiver's gradient."""
    channels = x.shape[1]
    for row in range(start, stop):
        grad_row = grad_out[row]
        for edge in range(indptr[row], indptr[row + 1]):
            sender, total = x[indices[edge]], np.float32(0)
            for c in range(channels):
                total += sender[c] * grad_row[c]
            out[edge] = total
