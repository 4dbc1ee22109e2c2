"""Weighted sums and means over the edges of a block, differentiable in the rows and in the weights.

On a CPU torch's embedding bags compute the same, but their backward pass sorts the edges in every call and runs on one
thread; here the edges of a block are transposed once.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn.block import Block
from mggcn.kernels import threads as threading
from mggcn.kernels.gather_sum import cpu

_WORK_A_CHUNK = 1 << 20


def gather_sum(x: Tensor, block: Block) -> Tensor:
    """[num_src, channels] float32 on the CPU to [num_dst, channels]: weighted sums of senders, or their means."""
    out: Tensor = _GatherSum.apply(x, block.weight, block)  # type: ignore[no-untyped-call]
    return out


class _GatherSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor | None, block: Block) -> Tensor:
        x = x.contiguous()
        ctx.save_for_backward(x, weight)
        ctx.block = block
        return _sums(block.indptr.numpy(), block.indices.numpy(), _factors(block), x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        x, weight = ctx.saved_tensors
        grad_out, block = gradients[0].contiguous(), ctx.block
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            indptr, edges, receivers = block.transposed
            grad_x = _sums(indptr, receivers, _factors(block)[edges], grad_out)
        if weight is not None and ctx.needs_input_grad[1]:
            grad_weight = _dots(block, x, grad_out)
        return grad_x, grad_weight, None


def _over_rows(fill: Callable[[int, int], None], num_rows: int, work: int) -> None:
    """Use torch's number of threads for large work; small work runs without threads, which cost more than they save."""
    chunks = max(1, work // _WORK_A_CHUNK)
    threads = torch.get_num_threads()
    threading.over_ranges(fill, num_rows, chunk=max(1, -(-num_rows // chunks)), threads=threads)


def _factors(block: Block) -> NDArray[np.float32]:
    if block.weight is not None:
        return block.weight.detach().numpy()
    counts = block.indptr.diff()
    return torch.repeat_interleave(1 / counts.clamp(min=1).float(), counts).numpy()


def _sums(indptr: NDArray[Any], indices: NDArray[Any], factors: NDArray[np.float32], x: Tensor) -> Tensor:
    out = x.new_empty(indptr.size - 1, x.shape[1])
    arrays = (indptr, indices, factors, x.detach().numpy(), out.numpy())
    _over_rows(lambda start, stop: cpu.sums(*arrays, start, stop), indptr.size - 1, indices.size * x.shape[1])
    return out


def _dots(block: Block, x: Tensor, grad_out: Tensor) -> Tensor:
    out = x.new_empty(block.indices.numel())
    arrays = (block.indptr.numpy(), block.indices.numpy(), x.detach().numpy(), grad_out.numpy(), out.numpy())
    _over_rows(lambda start, stop: cpu.dots(*arrays, start, stop), block.num_dst, out.numel() * x.shape[1])
    return out
