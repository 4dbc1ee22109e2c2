"""The grouped layer and its gradients in Triton: one launch forward, one back.

A program of the forward pass combines ``ROWS`` groups and multiplies them by some columns of the matrix. In the
backward pass, some programs compute the gradient of h for ``ROWS`` groups and some channels each and, in the same
launch, others that of the matrix for ``ROWS`` of its rows each, always summed in the same order. With more than
``small`` groups there are enough programs with more columns or channels each, and the library's product computes the
latter gradient, because it then uses the whole GPU.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from mggcn.kernels.gpu._early import options, wait_for_inputs

ROWS, STEP = tl.constexpr(16), tl.constexpr(64)
_CHANNELS, _FEW_CHANNELS, _FEW_COLUMNS = 128, 32, 32
_SMALL = 1024


@triton.jit
def _source(index, row, inside, REPEATED: tl.constexpr):
    if REPEATED:
        return tl.load(index + row, mask=inside, other=0)
    else:  # noqa: RET505
        return row


@triton.jit
def _forward(
    h,
    weight,
    joined,
    out,
    index,
    b,
    slope,
    CHANNELS: tl.constexpr,
    OUT: tl.constexpr,
    GROUP: tl.constexpr,
    BLOCK: tl.constexpr,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
    REPEATED: tl.constexpr,
    EARLY: tl.constexpr,
):
    wait_for_inputs(EARLY)
    t = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    o = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    total = tl.zeros([ROWS, WIDTH], tl.float32)
    for start in tl.static_range(0, CHANNELS, BLOCK):
        c = start + tl.arange(0, BLOCK)
        mask = (t < b)[:, None] & (c < CHANNELS)[None, :]
        cells = _source(index, t, t < b, REPEATED)[:, None] * CHANNELS + c[None, :]
        value = tl.load(h + cells, mask=mask, other=0.0).to(tl.float32)
        root = tl.where(value > 0, value, slope * value)
        mean = root
        for i in tl.static_range(1, GROUP):
            cells = _source(index, i * b + t, t < b, REPEATED)[:, None] * CHANNELS + c[None, :]
            value = tl.load(h + cells, mask=mask, other=0.0).to(tl.float32)
            mean += tl.where(value > 0, value, slope * value)
        mean = mean / GROUP
        both = joined + t[:, None] * (2 * CHANNELS) + c[None, :]
        if tl.program_id(1) == 0:
            tl.store(both, root, mask=mask)
            tl.store(both + CHANNELS, mean, mask=mask)
        valid = (c < CHANNELS)[:, None] & (o < OUT)[None, :]
        entries = weight + c[:, None] * OUT + o[None, :]
        total = tl.dot(root, tl.load(entries, mask=valid, other=0.0), total, input_precision=PRECISION)
        total = tl.dot(mean, tl.load(entries + CHANNELS * OUT, mask=valid, other=0.0), total, input_precision=PRECISION)
    tl.store(out + t[:, None] * OUT + o[None, :], total, mask=(t < b)[:, None] & (o < OUT)[None, :])


@triton.jit
def _backward(
    h,
    weight,
    joined,
    grad_out,
    grad_h,
    grad_weight,
    index,
    b,
    slope,
    tiles,
    parts,
    CHANNELS: tl.constexpr,
    OUT: tl.constexpr,
    GROUP: tl.constexpr,
    BLOCK: tl.constexpr,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
    REPEATED: tl.constexpr,
    EARLY: tl.constexpr,
):
    wait_for_inputs(EARLY)
    o = tl.arange(0, WIDTH)
    if tl.program_id(0) < parts:
        t = tl.program_id(0) % tiles * ROWS + tl.arange(0, ROWS)
        c = tl.program_id(0) // tiles * BLOCK + tl.arange(0, BLOCK)
        g = tl.load(grad_out + t[:, None] * OUT + o[None, :], mask=(t < b)[:, None] & (o < OUT)[None, :], other=0.0)
        valid = (c < CHANNELS)[:, None] & (o < OUT)[None, :]
        entries = weight + c[:, None] * OUT + o[None, :]
        root = tl.dot(g, tl.trans(tl.load(entries, mask=valid, other=0.0)), input_precision=PRECISION)
        shared = tl.trans(tl.load(entries + CHANNELS * OUT, mask=valid, other=0.0))
        mean = tl.dot(g, shared, input_precision=PRECISION) / GROUP
        mask = (t < b)[:, None] & (c < CHANNELS)[None, :]
        cells = t[:, None] * CHANNELS + c[None, :]
        for i in tl.static_range(0, GROUP):
            value = mean + root if i == 0 else mean
            source = _source(index, i * b + t, t < b, REPEATED)[:, None] * CHANNELS + c[None, :]
            active = tl.load(h + source, mask=mask, other=0.0) > 0
            tl.store(grad_h + i * b * CHANNELS + cells, tl.where(active, value, slope * value), mask=mask)
    else:
        k = (tl.program_id(0) - parts) * ROWS + tl.arange(0, ROWS)
        total = tl.zeros([ROWS, WIDTH], tl.float32)
        for start in range(0, b, STEP):
            t = start + tl.arange(0, STEP)
            mask = (k < 2 * CHANNELS)[:, None] & (t < b)[None, :]
            a = tl.load(joined + t[None, :] * (2 * CHANNELS) + k[:, None], mask=mask, other=0.0)
            g = tl.load(grad_out + t[:, None] * OUT + o[None, :], mask=(t < b)[:, None] & (o < OUT)[None, :], other=0.0)
            total = tl.dot(a, g, total, input_precision=PRECISION)
        tl.store(
            grad_weight + k[:, None] * OUT + o[None, :], total, mask=(k < 2 * CHANNELS)[:, None] & (o < OUT)[None, :]
        )


def forward(
    h: Tensor, group: int, slope: float, weight: Tensor, index: Tensor | None = None, small: int = _SMALL
) -> tuple[Tensor, Tensor]:
    """[b, out], and the combination [b, 2 · channels] that the backward pass needs, both float32.

    With ``index`` [group · b], row i of the batch is row ``index[i]`` of h.
    """
    rows, channels, out = h.shape[0] if index is None else index.numel(), h.shape[1], weight.shape[1]
    b = rows // group
    joined = torch.empty(b, 2 * channels, device=h.device)
    scores = torch.empty(b, out, device=h.device)
    constants = _constants(h, out, group, index, _CHANNELS)
    constants["WIDTH"] = min(constants["WIDTH"], _FEW_COLUMNS) if b <= small else constants["WIDTH"]
    grid = (triton.cdiv(b, ROWS.value), triton.cdiv(out, constants["WIDTH"]))
    _forward[grid](h, weight, joined, scores, index, b, slope, **constants)
    return scores, joined


def backward(
    h: Tensor,
    group: int,
    slope: float,
    weight: Tensor,
    joined: Tensor,
    grad_out: Tensor,
    index: Tensor | None = None,
    small: int = _SMALL,
) -> tuple[Tensor, Tensor]:
    """The gradients of all rows of the batch and of the matrix, from the gradient of the result."""
    rows, channels, out = h.shape[0] if index is None else index.numel(), h.shape[1], weight.shape[1]
    b = rows // group
    grad_h = torch.empty(rows, channels, dtype=h.dtype, device=h.device)
    is_small = b <= small
    constants = _constants(h, out, group, index, _FEW_CHANNELS if is_small else _CHANNELS)
    tiles = triton.cdiv(b, ROWS.value)
    parts = tiles * triton.cdiv(channels, constants["BLOCK"])
    grad_weight = torch.empty_like(weight) if is_small else _product(joined.T, grad_out)
    grid = (parts + (triton.cdiv(2 * channels, ROWS.value) if is_small else 0),)
    arrays = (h, weight, joined, grad_out, grad_h, grad_weight, index)
    _backward[grid](*arrays, b, slope, tiles, parts, **constants)
    return grad_h, grad_weight


def _product(a: Tensor, b: Tensor) -> Tensor:
    """A product in float32 or tf32, also where training is in bfloat16, which would round both matrices first."""
    with torch.autocast("cuda", enabled=False):
        return a @ b


def _constants(h: Tensor, out: int, group: int, index: Tensor | None, most: int) -> dict[str, Any]:
    channels = h.shape[1]
    block, width = (max(16, triton.next_power_of_2(size)) for size in (min(channels, most), out))
    precision = "ieee" if torch.get_float32_matmul_precision() == "highest" else "tf32"
    sizes = {"CHANNELS": channels, "OUT": out, "GROUP": group, "BLOCK": block, "WIDTH": width}
    early = options(h) if h.dtype == torch.bfloat16 else {"EARLY": False}  # after a product of the library it is slower
    return sizes | early | {"PRECISION": precision, "REPEATED": index is not None}
