"""The maximum over the senders of every receiver, zero if it is negative; differentiable.

Where every receiver has the same number of senders, rows that repeat are not copied on a CPU: the kernel reads them by
their index, and the gradient of each value goes to the one row that it came from.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from mggcn.block import Block, Repeats
from mggcn.kernels._compiled import compiled
from mggcn.kernels.relabel import expand


def maximum(x: Tensor, block: Block, index: Tensor | None = None, repeats: Repeats | None = None) -> Tensor:
    """[num_dst, channels] the largest value of every receiver's senders; zero if none is positive, or without senders.

    Args:
        x: [num_src, channels]; with an index, only the distinct rows.
        block: the edges. Of its weights only zeros are used: such a sender is left out.
        index: [num_src] the row of x that each row is equal to.
        repeats: the same index as a GPU needs it, if the sampler provides it.
    """
    is_compiling = torch.compiler.is_compiling()  # also in torch.export, which cannot trace the kernel
    if block.group is not None and x.device.type == "cpu" and x.dtype == torch.float32 and not is_compiling:
        rows = torch.arange(x.shape[0]) if index is None else index
        out: Tensor = _GroupedMaximum.apply(x, rows, block)
        return out
    if index is not None:
        x = x.index_select(0, index) if repeats is None else expand(x, repeats)
    return plain_maximum(x, block)


def plain_maximum(x: Tensor, block: Block) -> Tensor:
    """The same in torch, for [num_src, channels]."""
    x = x.relu()
    keep = None if block.weight is None else (block.weight.detach() != 0).to(x.dtype)
    if block.group is not None:
        grouped = x.view(block.group, block.num_dst, -1)
        if keep is not None:
            grouped = grouped * keep.view(block.num_dst, block.group).T.unsqueeze(-1)
        return grouped.amax(dim=0)
    edges = block.indices
    if keep is not None:
        x = x.index_select(0, edges) * keep.unsqueeze(-1)
        edges = torch.arange(edges.numel(), device=edges.device)
    largest: Tensor = _Maximum.apply(x, edges, block.indptr)
    return largest


class _GroupedMaximum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor, block: Block) -> Tensor:
        x, group, b = x.contiguous(), block.group or 1, block.num_dst
        keep = np.empty((0, group), np.bool_) if block.weight is None else block.weight.detach().numpy() != 0
        out, where = x.new_empty(b, x.shape[1]), torch.empty(b, x.shape[1], dtype=torch.int32)
        _forward(x.detach().numpy(), index.numpy(), group, keep.reshape(-1, group), out.numpy(), where.numpy())
        ctx.save_for_backward(where)
        ctx.shape = x.shape
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (where,) = ctx.saved_tensors
        coming = gradients[0].contiguous()
        out = coming.new_zeros(ctx.shape)
        _backward(where.numpy(), coming.numpy(), out.numpy())
        return out, None, None


@compiled
def _forward(x, index, group, keep, out, where):
    """Fill ``out`` [b, channels], and ``where`` with the row of x that each value is from, -1 for a zero."""
    b, channels = out.shape
    for t in range(b):
        best, best_row = out[t], where[t]
        for c in range(channels):
            best[c], best_row[c] = np.float32(0), np.int32(-1)
        for i in range(group):
            if keep.shape[0] and not keep[t, i]:
                continue
            number = np.int32(index[i * b + t])
            row = x[number]
            for c in range(channels):
                is_larger = row[c] > best[c]
                best[c] = row[c] if is_larger else best[c]
                best_row[c] = number if is_larger else best_row[c]


@compiled
def _backward(where, coming, out):
    """Add the gradients to the rows that the values are from."""
    for t in range(where.shape[0]):
        for c in range(where.shape[1]):
            if where[t, c] >= 0:
                out[where[t, c], c] += coming[t, c]


class _Maximum(torch.autograd.Function):
    """The maximum of ``torch.embedding_bag`` with a faster gradient, which writes all channels at once."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, edges: Tensor, indptr: Tensor) -> Tensor:
        out, _, _, where = torch.embedding_bag(x, edges, indptr, mode=2, include_last_offset=True)
        ctx.save_for_backward(where[: out.shape[0]], indptr)
        ctx.num_src = x.shape[0]
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        where, indptr = ctx.saved_tensors
        gradient = gradients[0] * (indptr.diff() > 0).unsqueeze(1)
        out = gradient.new_zeros(ctx.num_src, gradient.shape[1])
        return out.scatter_add_(0, where.clamp(min=0), gradient), None, None
