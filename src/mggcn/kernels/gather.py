"""Sums and products of rows that are gathered by their numbers, without copying them first; differentiable.

Torch's embedding bags compute the same sums over the edges of a block, but their backward pass sorts the edges in every
call, and on a CPU it runs on one thread; here the edges of a large block are transposed once. Edges are summed in their
order; on several threads, each row is written by one.

A sparse matrix on a CPU is multiplied row by row: torch's kernels for this (embedding bags, CSR products) take 10 to
200 times as long at a batch's size. On a GPU only rows in bfloat16 are multiplied where they are. Rows in float32 are
copied: Triton's products in tf32 are slower than those of cuBLAS by more than the copy takes.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from numba import njit
from scipy.sparse import csr_array
from torch import Tensor

from mggcn.block import Block
from mggcn.kernels import threads as threading
from mggcn.kernels._compiled import compiled

_FOR_THREADS = 1 << 23  # multiplications on a CPU; with fewer, one thread is faster, because torch's own still spin


def gather_sum(x: Tensor, block: Block, for_threads: int = _FOR_THREADS) -> Tensor:
    """[num_src, channels] to [num_dst, channels]: weighted sums of senders, or their means.

    Rows are float32, or on a GPU also bfloat16, which is summed in float32. The result does not depend on
    ``for_threads``, the fewest multiplications for which a CPU uses several threads.
    """
    out: Tensor = _GatherSum.apply(x, block.weight, block, for_threads)
    return out


class _GatherSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor | None, block: Block, for_threads: int) -> Tensor:
        x = x.contiguous()
        ctx.save_for_backward(x, weight)
        ctx.block, ctx.for_threads = block, for_threads
        return _summed(block.indptr, block.indices, block.factors, x, for_threads)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        x, weight = ctx.saved_tensors
        block: Block = ctx.block
        grad_out = gradients[0].contiguous()
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            if grad_out.device.type == "cpu" and block.indices.numel() * grad_out.shape[1] < ctx.for_threads:
                grad_x = grad_out.new_zeros(block.num_src, grad_out.shape[1])  # few edges are not transposed for that
                arrays = (block.indptr, block.indices, block.factors, grad_out, grad_x)
                _scatter(*(array.numpy() for array in arrays))
            else:
                grad_x = _summed(*block.transposed, grad_out, ctx.for_threads)
        if weight is not None and ctx.needs_input_grad[1]:
            grad_weight = _weight_gradient(block, x, grad_out, ctx.for_threads)
        return grad_x, grad_weight, None, None


def _over_rows(fill: Callable[[int, int], None], num_rows: int, count: int, for_threads: int) -> None:
    threads = torch.get_num_threads() if count >= for_threads else 1
    threading.over_rows(fill, num_rows, count, chunk=max(1, for_threads // 8), threads=threads)


def _summed(indptr: Tensor, indices: Tensor, factors: Tensor, x: Tensor, for_threads: int) -> Tensor:
    x, out = x.detach(), x.new_empty(indptr.numel() - 1, x.shape[1])
    if x.device.type == "cuda":
        from mggcn.kernels.gpu import gather as gpu

        gpu.sums(indptr, indices, factors, x, out)
        return out
    fill = partial(sums, indptr.numpy(), indices.numpy(), factors.numpy(), x.numpy(), out.numpy())
    _over_rows(fill, out.shape[0], indices.numel() * x.shape[1], for_threads)
    return out


def _weight_gradient(block: Block, x: Tensor, grad_out: Tensor, for_threads: int) -> Tensor:
    indptr, indices, x, out = block.indptr, block.indices, x.detach(), torch.empty(block.indices.shape, device=x.device)
    if x.device.type == "cuda":
        from mggcn.kernels.gpu import gather as gpu

        gpu.dots(indptr, indices, x, grad_out, out)
        return out
    fill = partial(_dots, indptr.numpy(), indices.numpy(), x.numpy(), grad_out.numpy(), out.numpy())
    _over_rows(fill, block.num_dst, out.numel() * x.shape[1], for_threads)
    return out


@njit(inline="always")
def fill_row(indices, factors, first, last, x, out_row):
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
def sums(indptr, indices, factors, x, out, start, stop):
    """Fill rows start … stop of ``out`` with the sum of factor times x over their edges."""
    for row in range(start, stop):
        fill_row(indices, factors, indptr[row], indptr[row + 1], x, out[row])


@compiled
def _scatter(indptr, indices, factors, grad_out, out):
    """Add the gradients of the senders to ``out``: the sums over the transposed edges, in the same order."""
    channels = grad_out.shape[1]
    for row in range(grad_out.shape[0]):
        grad_row = grad_out[row]
        for edge in range(indptr[row], indptr[row + 1]):
            factor, sender = factors[edge], out[indices[edge]]
            for c in range(channels):
                sender[c] += factor * grad_row[c]


@compiled
def _dots(indptr, indices, x, grad_out, out, start, stop):
    """Fill ``out`` for the edges of rows start … stop: the sender's x times the receiver's gradient."""
    channels = x.shape[1]
    for row in range(start, stop):
        grad_row = grad_out[row]
        for edge in range(indptr[row], indptr[row + 1]):
            sender, total = x[indices[edge]], np.float32(0)
            for c in range(channels):
                total += sender[c] * grad_row[c]
            out[edge] = total


def gather_product(table: Tensor, nodes: Tensor, weight: Tensor) -> Tensor:
    """[n, channels] ``table[nodes][:, :width] @ weight`` in the table's dtype; only the weights have a gradient.

    The table [num_nodes, stride], in float32 or bfloat16, has zeros in the columns from ``width`` on; ``weight`` is
    [width, channels] in float32.
    """
    if table.dtype != torch.bfloat16:
        return table.index_select(0, nodes)[:, : weight.shape[0]] @ weight
    out: Tensor = _GatherProduct.apply(weight, table, nodes)
    return out


class _GatherProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, table: Tensor, nodes: Tensor) -> Tensor:
        from mggcn.kernels.gpu import gather as gpu

        ctx.table, ctx.nodes, ctx.width = table, nodes, weight.shape[0]
        return gpu.product(table, nodes, weight.to(table.dtype).contiguous())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        from mggcn.kernels.gpu import gather as gpu

        return gpu.gradient(ctx.table, ctx.nodes, gradients[0].contiguous(), ctx.width), None, None


def sparse_product(x: csr_array, nodes: Tensor, weight: Tensor) -> Tensor:
    """[n, channels] the rows ``nodes`` [n] of x, in float32, times ``weight`` [width, channels], on the CPU."""
    out: Tensor = _SparseProduct.apply(weight, x, nodes)
    return out


class _SparseProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, x: csr_array, nodes: Tensor) -> Tensor:
        ctx.x, ctx.nodes, ctx.shape = x, nodes, weight.shape
        out = weight.new_empty(nodes.numel(), weight.shape[1])
        _product(x.indptr, x.indices, x.data, nodes.numpy(), weight.detach().numpy(), out.numpy())
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        grad_out, x = gradients[0].contiguous(), ctx.x
        out = grad_out.new_zeros(ctx.shape)
        _gradient(x.indptr, x.indices, x.data, ctx.nodes.numpy(), grad_out.numpy(), out.numpy())
        return out, None, None


@compiled
def _product(indptr, indices, data, nodes, weight, out):
    """Fill ``out`` [n, channels]."""
    for row in range(nodes.size):
        fill_row(indices, data, indptr[nodes[row]], indptr[nodes[row] + 1], weight, out[row])


@compiled
def _gradient(indptr, indices, data, nodes, grad_out, out):
    """Add the gradient to ``out`` [width, channels], row after row in the order of ``nodes``."""
    channels = grad_out.shape[1]
    for row in range(nodes.size):
        grad_row = grad_out[row]
        for entry in range(indptr[nodes[row]], indptr[nodes[row] + 1]):
            value, out_row = data[entry], out[indices[entry]]
            for c in range(channels):
                out_row[c] += value * grad_row[c]
