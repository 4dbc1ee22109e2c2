"""The gradient of an expansion in Triton: a program for each distinct row adds up the rows that repeat it."""

import torch
import triton
import triton.language as tl
from torch import Tensor

_CELLS, _WARPS = 4096, 1


@triton.jit
def _segment_sum(gradient, indptr, order, out, CHANNELS: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0)
    start = tl.load(indptr + row)
    stop = tl.load(indptr + row + 1)
    c = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for begin in range(start, stop, ROWS):
        r = begin + tl.arange(0, ROWS)
        source = tl.load(order + r, mask=r < stop, other=0)
        mask = (r < stop)[:, None] & (c < CHANNELS)[None, :]
        values = tl.load(gradient + source[:, None] * CHANNELS + c[None, :], mask=mask, other=0.0)
        total += tl.sum(values.to(tl.float32), axis=0)
    tl.store(out + row * CHANNELS + c, total, mask=c < CHANNELS)


def segment_sum(gradient: Tensor, indptr: Tensor, order: Tensor) -> Tensor:
    """[c, channels]: for each distinct row, the sum of ``gradient`` [n, channels] over the rows that repeat it."""
    count, channels = indptr.numel() - 1, gradient.shape[1]
    out = torch.empty(count, channels, dtype=gradient.dtype, device=gradient.device)
    block = triton.next_power_of_2(channels)
    sizes = {"CHANNELS": channels, "BLOCK": block, "ROWS": max(1, min(32, _CELLS // block))}
    _segment_sum[(count,)](gradient, indptr, order, out, **sizes, num_warps=_WARPS)
    return out
