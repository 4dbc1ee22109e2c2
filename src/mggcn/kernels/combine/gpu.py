"""The combination and its gradient in Triton; one launch each."""

import triton
import triton.language as tl
from torch import Tensor

_CELLS = 512


@triton.jit
def _forward(h, out, b, slope, CHANNELS: tl.constexpr, GROUP: tl.constexpr, CELLS: tl.constexpr):
    cell = tl.program_id(0) * CELLS + tl.arange(0, CELLS)
    inside = cell < b * CHANNELS
    t, c = cell // CHANNELS, cell % CHANNELS
    value = tl.load(h + cell, mask=inside, other=0.0).to(tl.float32)
    own = tl.where(value > 0, value, slope * value)
    total = own
    for i in tl.static_range(1, GROUP):
        value = tl.load(h + i * b * CHANNELS + cell, mask=inside, other=0.0).to(tl.float32)
        total += tl.where(value > 0, value, slope * value)
    place = out + t * (2 * CHANNELS) + c
    tl.store(place, own, mask=inside)
    tl.store(place + CHANNELS, total / GROUP, mask=inside)


@triton.jit
def _backward(
    h,
    gradient,
    out,
    b,
    slope,
    CHANNELS: tl.constexpr,
    GROUP: tl.constexpr,
    CELLS: tl.constexpr,
):
    cell = tl.program_id(0) * CELLS + tl.arange(0, CELLS)
    inside = cell < b * CHANNELS
    place = gradient + (cell // CHANNELS) * (2 * CHANNELS) + cell % CHANNELS
    own = tl.load(place, mask=inside, other=0.0).to(tl.float32)
    share = tl.load(place + CHANNELS, mask=inside, other=0.0).to(tl.float32) / GROUP
    for i in tl.static_range(0, GROUP):
        row = i * b * CHANNELS + cell
        value = share + own if i == 0 else share
        active = tl.load(h + row, mask=inside, other=0.0) > 0
        tl.store(out + row, tl.where(active, value, slope * value), mask=inside)


def forward(h: Tensor, group: int, slope: float, out: Tensor) -> None:
    """Fill ``out`` [b, 2 · channels]."""
    b, channels = out.shape[0], h.shape[1]
    grid = (triton.cdiv(b * channels, _CELLS),)
    _forward[grid](h, out, b, slope, CHANNELS=channels, GROUP=group, CELLS=_CELLS)


def backward(h: Tensor, group: int, slope: float, gradient: Tensor, out: Tensor) -> None:
    """Fill ``out`` [group · b, channels] with the gradient of h from that of the result."""
    b, channels = gradient.shape[0], h.shape[1]
    grid = (triton.cdiv(b * channels, _CELLS),)
    _backward[grid](h, gradient, out, b, slope, CHANNELS=channels, GROUP=group, CELLS=_CELLS)
