"""Sums and products of gathered rows in Triton: the rows are read from the table, twice, and never written.

A program of a sum adds up the senders of one receiver over a range of columns, in order. A program of the product
computes some rows and channels of the result. A program of the gradient computes some rows and channels of it over a
share of the gathered rows; shares are added up in order, so results do not depend on timing.
"""

from functools import cache
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from mggcn.kernels.gpu._early import options, wait_for_inputs

FEW, _SHARE = 4096, 1024  # up to FEW gathered rows are one sum of the gradient, more are sums of _SHARE rows
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


class Tile(NamedTuple):
    """What one program computes: rows and columns, the length of a step of its sum, and how it is compiled.

    The sizes were chosen with ``benchmarks/tiles.py`` on an H200: for batches of 256 and of 4096 targets.
    """

    rows: int
    columns: int
    step: int
    stages: int
    warps: int


PRODUCT = {True: Tile(64, 32, 64, 6, 4), False: Tile(64, 128, 64, 6, 4)}  # by whether the rows are few
GRADIENT = {True: Tile(64, 32, 128, 6, 4), False: Tile(64, 128, 64, 6, 4)}


@triton.jit
def _product(
    table,
    nodes,
    weight,
    out,
    n,
    STRIDE: tl.constexpr,
    WIDTH: tl.constexpr,
    CHANNELS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    STEP: tl.constexpr,
    PRECISION: tl.constexpr,
    EARLY: tl.constexpr,
):
    wait_for_inputs(EARLY)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    channel = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    source = tl.load(nodes + row, mask=row < n, other=0).to(tl.int64)
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(0, WIDTH, STEP):
        k = start + tl.arange(0, STEP)
        a = tl.load(table + source[:, None] * STRIDE + k[None, :], mask=(k < STRIDE)[None, :], other=0.0)
        mask = (k < WIDTH)[:, None] & (channel < CHANNELS)[None, :]
        w = tl.load(weight + k[:, None] * CHANNELS + channel[None, :], mask=mask, other=0.0)
        total = tl.dot(a, w, total, input_precision=PRECISION)
    cells = row.to(tl.int64)[:, None] * CHANNELS + channel[None, :]
    tl.store(out + cells, total, mask=(row < n)[:, None] & (channel < CHANNELS)[None, :])


@triton.jit
def _gradient(
    table,
    nodes,
    coming,
    out,
    n,
    share,
    STRIDE: tl.constexpr,
    WIDTH: tl.constexpr,
    CHANNELS: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    STEP: tl.constexpr,
    PRECISION: tl.constexpr,
    EARLY: tl.constexpr,
):
    wait_for_inputs(EARLY)
    k = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    channel = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    first = tl.program_id(2) * share
    last = tl.minimum(first + share, n)
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(first, last, STEP):
        row = start + tl.arange(0, STEP)
        source = tl.load(nodes + row, mask=row < last, other=0).to(tl.int64)
        a = tl.load(table + source[:, None] * STRIDE + k[None, :], mask=(k < STRIDE)[None, :], other=0.0)
        mask = (row < last)[:, None] & (channel < CHANNELS)[None, :]
        g = tl.load(coming + row.to(tl.int64)[:, None] * CHANNELS + channel[None, :], mask=mask, other=0.0)
        total = tl.dot(tl.trans(a), g, total, input_precision=PRECISION)
    cells = (tl.program_id(2) * WIDTH + k)[:, None] * CHANNELS + channel[None, :]
    tl.store(out + cells, total, mask=(k < WIDTH)[:, None] & (channel < CHANNELS)[None, :])


def product(table: Tensor, nodes: Tensor, weight: Tensor, few: int = FEW) -> Tensor:
    """[n, channels]: the rows of ``nodes``, without padding, times ``weight`` [width, channels] of the same dtype."""
    n, (width, channels) = nodes.numel(), weight.shape
    tile = PRODUCT[n <= few]
    out = torch.empty(n, channels, dtype=table.dtype, device=table.device)
    grid = (triton.cdiv(channels, tile.columns), triton.cdiv(n, tile.rows))
    _product[grid](table, nodes, weight, out, n, **_constants(table, width, channels, tile))
    return out


def gradient(table: Tensor, nodes: Tensor, coming: Tensor, width: int, few: int = FEW, share: int = _SHARE) -> Tensor:
    """[width, channels] float32: the gradient of the weights, from that of the product, ``coming`` [n, channels]."""
    n, channels = coming.shape
    tile = GRADIENT[n <= few]
    share = few if n <= few else share
    shares = max(1, triton.cdiv(n, share))
    out = torch.empty(shares, width, channels, device=table.device)
    grid = (triton.cdiv(channels, tile.columns), triton.cdiv(width, tile.rows), shares)
    _gradient[grid](table, nodes, coming, out, n, share, **_constants(table, width, channels, tile))
    return out[0] if shares == 1 else out.sum(dim=0)


def _constants(table: Tensor, width: int, channels: int, tile: Tile) -> dict[str, Any]:
    precision = "ieee" if torch.get_float32_matmul_precision() == "highest" else "tf32"
    sizes = {"STRIDE": table.stride(0), "WIDTH": width, "CHANNELS": channels, "PRECISION": precision}
    shape = {"ROWS": tile.rows, "COLUMNS": tile.columns, "STEP": tile.step}
    return sizes | shape | options(table) | {"num_stages": _stages(tile, table), "num_warps": tile.warps}


def _stages(tile: Tile, table: Tensor) -> int:
    """The steps of a sum that are read at once: fewer if the GPU has less shared memory than a Hopper one."""
    if table.device.type == "cpu":
        return 1
    step = (tile.rows + tile.columns) * tile.step * table.itemsize
    return max(1, min(tile.stages, _shared_memory(table.device.index) // step - 1))


@cache
def _shared_memory(device: int) -> int:
    """The bytes of shared memory that a program can have."""
    return int(triton.runtime.driver.active.utils.get_device_properties(device)["max_shared_mem"])
