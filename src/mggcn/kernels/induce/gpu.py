"""The induced sub-graphs in Triton: a lane searches for one pair of members."""

import triton
import triton.language as tl
from torch import Tensor

_LANES = 128


@triton.jit
def _induce(
    indptr,
    indices,
    members,
    out,
    b,
    cells,
    SIZE: tl.constexpr,
    SYMMETRIC: tl.constexpr,
    LANES: tl.constexpr,
):
    cell = tl.program_id(0) * LANES + tl.arange(0, LANES)
    inside = cell < cells
    row, j = cell // SIZE, cell % SIZE
    t = row % b
    target = tl.load(members + t, mask=inside, other=0).to(tl.int64)
    u = tl.load(members + row, mask=inside, other=0).to(tl.int64)
    w = tl.load(members + j * b + t, mask=inside, other=0).to(tl.int64)
    active = inside & ((j == 0) | (w != target))
    if SYMMETRIC:
        mine = tl.load(indptr + u + 1, mask=active, other=0) - tl.load(indptr + u, mask=active, other=0)
        other = tl.load(indptr + w + 1, mask=active, other=0) - tl.load(indptr + w, mask=active, other=0)
        shorter = tl.where(other < mine, w, u)
        w = tl.where(other < mine, u, w)
        u = shorter
    low = tl.load(indptr + u, mask=active, other=0)
    end = tl.load(indptr + u + 1, mask=active, other=0)
    high = end
    while tl.max((low < high).to(tl.int32)) > 0:
        middle = (low + high) // 2
        less = tl.load(indices + middle, mask=low < high, other=0) < w
        searching = low < high
        high = tl.where(searching & (less == 0), middle, high)
        low = tl.where(searching & less, middle + 1, low)
    there = active & (low < end)
    found = there & (tl.load(indices + low, mask=there, other=-1) == w)
    tl.store(out + cell, found.to(tl.int8), mask=inside)


def induce(indptr: Tensor, indices: Tensor, symmetric: bool, members: Tensor, out: Tensor) -> None:
    """Fill ``out`` [s · b, s], int8, from [s, b] members: row i · b + t, column j says that j is in N(i) in set t."""
    s, b = members.shape
    cells = s * b * s
    _induce[(triton.cdiv(cells, _LANES),)](
        indptr, indices, members, out, b, cells, SIZE=s, SYMMETRIC=symmetric, LANES=_LANES
    )
