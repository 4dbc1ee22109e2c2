"""Weighted sums and means over the edges of a block, differentiable in the rows and in the weights.

Torch's embedding bags compute the same, but their backward pass sorts the edges in every call, and on a CPU it runs on
one thread; here the edges of a large block are transposed once.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from mggcn.block import Block
from mggcn.kernels import threads as threading
from mggcn.kernels.gather_sum import cpu

_WORK_A_CHUNK = 1 << 20
_WORK_FOR_THREADS = 1 << 23  # multiplications; with fewer, one thread is faster, because torch's own still spin


def gather_sum(x: Tensor, block: Block) -> Tensor:
    """[num_src, channels] to [num_dst, channels]: weighted sums of senders, or their means.

    Rows are float32, or on a GPU also bfloat16, which is summed in float32.
    """
    out: Tensor = _GatherSum.apply(x, block.weight, block)  # type: ignore[no-untyped-call]
    return out


class _GatherSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor | None, block: Block) -> Tensor:
        x = x.contiguous()
        ctx.save_for_backward(x, weight)
        ctx.block = block
        return _sums(block.indptr, block.indices, block.factors, x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        x, weight = ctx.saved_tensors
        block: Block = ctx.block
        grad_out = gradients[0].contiguous()
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = _sums_by_sender(block, grad_out)
        if weight is not None and ctx.needs_input_grad[1]:
            grad_weight = _dots(block, x, grad_out)
        return grad_x, grad_weight, None


def _over_rows(fill: Callable[[int, int], None], num_rows: int, work: int) -> None:
    """Use torch's number of threads for large work; small work runs without threads, which cost more than they save."""
    chunks = max(1, work // _WORK_A_CHUNK) if work >= _WORK_FOR_THREADS else 1
    threads = torch.get_num_threads()
    threading.over_ranges(fill, num_rows, chunk=max(1, -(-num_rows // chunks)), threads=threads)


def _sums(indptr: Tensor, indices: Tensor, factors: Tensor, x: Tensor) -> Tensor:
    x, out = x.detach(), x.new_empty(indptr.numel() - 1, x.shape[1])
    if x.device.type == "cuda":
        from mggcn.kernels.gather_sum import gpu

        gpu.sums(indptr, indices, factors, x, out)
        return out
    fill = partial(cpu.sums, indptr.numpy(), indices.numpy(), factors.numpy(), x.numpy(), out.numpy())
    _over_rows(fill, out.shape[0], indices.numel() * x.shape[1])
    return out


def _sums_by_sender(block: Block, grad_out: Tensor) -> Tensor:
    """The sums over the transposed edges; few edges on a CPU are not transposed for that."""
    if grad_out.device.type == "cuda" or block.indices.numel() * grad_out.shape[1] >= _WORK_FOR_THREADS:
        return _sums(*block.transposed, grad_out)
    out = grad_out.new_zeros(block.num_src, grad_out.shape[1])
    cpu.scatter(*(part.numpy() for part in (block.indptr, block.indices, block.factors, grad_out, out)))
    return out


def _dots(block: Block, x: Tensor, grad_out: Tensor) -> Tensor:
    indptr, indices, x, out = block.indptr, block.indices, x.detach(), torch.empty(block.indices.shape, device=x.device)
    if x.device.type == "cuda":
        from mggcn.kernels.gather_sum import gpu

        gpu.dots(indptr, indices, x, grad_out, out)
        return out
    fill = partial(cpu.dots, indptr.numpy(), indices.numpy(), x.numpy(), grad_out.numpy(), out.numpy())
    _over_rows(fill, block.num_dst, out.numel() * x.shape[1])
    return out
