"""The induced sub-graphs in Triton: each lane searches for one pair of members."""

import triton
import triton.language as tl
from torch import Tensor

from mggcn.kernels.gpu.pick import is_neighbour

_LANES = 128


@triton.jit
def _induce(indptr, indices, members, out, b, cells, SIZE: tl.constexpr, SYMMETRIC: tl.constexpr, LANES: tl.constexpr):
    cell = tl.program_id(0) * LANES + tl.arange(0, LANES)
    inside = cell < cells
    row, j = cell // SIZE, cell % SIZE
    t = row % b
    target = tl.load(members + t, mask=inside, other=0).to(tl.int64)
    u = tl.load(members + row, mask=inside, other=0).to(tl.int64)
    w = tl.load(members + j * b + t, mask=inside, other=0).to(tl.int64)
    active = inside & ((j == 0) | (w != target))
    tl.store(out + cell, is_neighbour(indptr, indices, u, w, active, SYMMETRIC).to(tl.int8), mask=inside)


def induce(indptr: Tensor, indices: Tensor, symmetric: bool, members: Tensor, out: Tensor) -> None:
    """Fill ``out`` [s · b, s], int8, from [s, b] members: row i · b + t, column j is 1 if j is in N(i) in set t."""
    s, b = members.shape
    grid = (triton.cdiv(s * b * s, _LANES),)
    _induce[grid](indptr, indices, members, out, b, s * b * s, SIZE=s, SYMMETRIC=symmetric, LANES=_LANES)
