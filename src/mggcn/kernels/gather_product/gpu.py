"""The product and its gradient in Triton: rows go from the table straight into the product, never copied aside.

Where a batch is too small to fill the GPU the summed dimension is divided among ``SPLIT`` programs, whose parts are
then added in a fixed order, so that a run repeats bit for bit.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

_ROWS, _STEP, _COLUMNS = 64, 32, 128
_PROGRAMS = 264
_WARPS, _STAGES = 4, 4


@triton.jit
def _product(
    table,
    nodes,
    weight,
    out,
    count,
    width,
    stride,
    CHANNELS: tl.constexpr,
    ROWS: tl.constexpr,
    STEP: tl.constexpr,
    COLUMNS: tl.constexpr,
    SPLIT: tl.constexpr,
    PRECISION: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    part = tl.program_id(2)
    inside = row < count
    node = tl.load(nodes + row, mask=inside, other=0).to(tl.int64)
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(part * STEP, width, SPLIT * STEP):
        k = start + tl.arange(0, STEP)
        a = tl.load(table + node[:, None] * stride + k[None, :], mask=inside[:, None] & (k < width)[None, :], other=0.0)
        known = (k < width)[:, None] & (column < CHANNELS)[None, :]
        b = tl.load(weight + k[:, None] * CHANNELS + column[None, :], mask=known, other=0.0)
        total = tl.dot(a, b.to(a.dtype), total, input_precision=PRECISION)
    cells = (part * count + row)[:, None] * CHANNELS + column[None, :]
    tl.store(out + cells, total, mask=inside[:, None] & (column < CHANNELS)[None, :])


@triton.jit
def _gradient(
    table,
    nodes,
    coming,
    out,
    count,
    width,
    stride,
    CHANNELS: tl.constexpr,
    ROWS: tl.constexpr,
    STEP: tl.constexpr,
    COLUMNS: tl.constexpr,
    SPLIT: tl.constexpr,
    PRECISION: tl.constexpr,
):
    k = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    part = tl.program_id(2)
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(part * STEP, count, SPLIT * STEP):
        row = start + tl.arange(0, STEP)
        inside = row < count
        node = tl.load(nodes + row, mask=inside, other=0).to(tl.int64)
        a = tl.load(table + node[:, None] * stride + k[None, :], mask=inside[:, None] & (k < width)[None, :], other=0.0)
        known = inside[:, None] & (column < CHANNELS)[None, :]
        g = tl.load(coming + row[:, None] * CHANNELS + column[None, :], mask=known, other=0.0)
        total = tl.dot(tl.trans(a), g.to(a.dtype), total, input_precision=PRECISION)
    cells = (part * width + k)[:, None] * CHANNELS + column[None, :]
    tl.store(out + cells, total, mask=(k < width)[:, None] & (column < CHANNELS)[None, :])


def product(table: Tensor, nodes: Tensor, weight: Tensor) -> Tensor:
    """[n, channels]: the rows of ``nodes`` times ``weight`` [width, channels], in float32."""
    return _launch(_product, table, nodes, weight, nodes.numel(), nodes.numel(), weight.shape[0])


def gradient(table: Tensor, nodes: Tensor, coming: Tensor) -> Tensor:
    """[width, channels]: the gradient of ``weight`` from that of the product."""
    width = table.shape[1]
    return _launch(_gradient, table, nodes, coming, width, nodes.numel(), nodes.numel())


def _launch(kernel, table: Tensor, nodes: Tensor, other: Tensor, rows: int, count: int, summed: int) -> Tensor:
    channels = other.shape[1]
    columns = max(16, min(_COLUMNS, triton.next_power_of_2(channels)))
    tiles = triton.cdiv(rows, _ROWS), triton.cdiv(channels, columns)
    split = max(1, min(8, _PROGRAMS // (tiles[0] * tiles[1]), summed // (4 * _STEP)))
    out = torch.empty(split, rows, channels, device=table.device)
    exact = torch.get_float32_matmul_precision() == "highest"
    kernel[(*tiles, split)](
        table,
        nodes,
        other,
        out,
        count,
        table.shape[1],
        table.stride(0),
        CHANNELS=channels,
        ROWS=_ROWS,
        STEP=_STEP,
        COLUMNS=columns,
        SPLIT=split,
        PRECISION="ieee" if exact else "tf32",
        num_warps=_WARPS,
        num_stages=_STAGES,
    )
    return out[0] if split == 1 else out.sum(dim=0)
