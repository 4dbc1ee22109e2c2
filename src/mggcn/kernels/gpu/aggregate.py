"""The mean over all neighbours in Triton: a program sums the neighbours of one row over a range of columns."""

import triton
import triton.language as tl
from torch import Tensor

_COLUMNS = 128
_EDGES = 8


@triton.jit
def _mean(
    indptr,
    indices,
    weight,
    x,
    out,
    width,
    COLUMNS: tl.constexpr,
    EDGES: tl.constexpr,
    INCLUDE_SELF: tl.constexpr,
    WEIGHTED: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    inside = column < width
    start = tl.load(indptr + row)
    stop = tl.load(indptr + row + 1)
    total = tl.zeros([COLUMNS], tl.float32)
    lost = tl.zeros([COLUMNS], tl.float32)
    size = (stop - start).to(tl.float32)
    if WEIGHTED:
        size = 0.0
    for first in range(start, stop, EDGES):
        edge = first + tl.arange(0, EDGES)
        neighbour = tl.load(indices + edge, mask=edge < stop, other=0).to(tl.int64)
        cells = neighbour[:, None] * width + column[None, :]
        mask = (edge < stop)[:, None] & inside[None, :]
        rows = tl.load(x + cells, mask=mask, other=0.0).to(tl.float32)
        if WEIGHTED:
            weights = tl.load(weight + edge, mask=edge < stop, other=0.0)
            rows *= weights[:, None]
            size += tl.sum(weights, axis=0)
        value = tl.sum(rows, axis=0) - lost
        grown = total + value
        lost = (grown - total) - value
        total = grown
    if INCLUDE_SELF:
        total += tl.load(x + row * width + column, mask=inside, other=0.0).to(tl.float32)
        size += 1.0
    tl.store(out + row * width + column, total / tl.where(size > 0, size, 1.0), mask=inside)


def neighbour_mean(
    indptr: Tensor, indices: Tensor, x: Tensor, weight: Tensor | None, include_self: bool, out: Tensor
) -> None:
    """Fill ``out`` [num_nodes, width]; sums are compensated (Kahan), so that hubs stay accurate."""
    nodes, width = x.shape
    grid = (nodes, triton.cdiv(width, _COLUMNS))
    constants = {"COLUMNS": _COLUMNS, "EDGES": _EDGES, "INCLUDE_SELF": include_self, "WEIGHTED": weight is not None}
    _mean[grid](indptr, indices, x if weight is None else weight, x, out, width, **constants, num_warps=2)
