"""Sums over edges in numba: each row of the result is written by one thread, its edges in order."""

import numpy as np

from mggcn.kernels._compiled import AnyInts, Floats, compiled


@compiled
def sums(indptr: AnyInts, indices: AnyInts, factors: Floats, x: Floats, out: Floats, start: int, stop: int) -> None:
    """Fill rows start … stop of ``out`` with the sum of factor times x over their edges."""
    channels = x.shape[1]
    for row in range(start, stop):
        out_row = out[row]
        out_row[:] = 0
        for edge in range(indptr[row], indptr[row + 1]):
            factor, sender = factors[edge], x[indices[edge]]
            for c in range(channels):
                out_row[c] += factor * sender[c]


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
