"""A grouped layer: activation, mean, concatenation and product in one kernel, with its gradients.

On the CPU the combination and its gradient are one pass each, where torch needs four.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from mggcn.block import Repeats
from mggcn.kernels._compiled import compiled
from mggcn.kernels.relabel import expand, segment_sum


def combine_project(
    h: Tensor,
    group: int,
    slope: float,
    weight: Tensor,
    index: Tensor | None = None,
    repeats: Repeats | None = None,
    factors: Tensor | None = None,
) -> Tensor:
    """Concat(σ(h_t), mean of σ(h) over the group of t) times W, with σ the leaky ReLU.

    Args:
        h: [group · b, channels]; row ``i·b + t`` is the i-th member of group t, and member 0 is t itself; with an
            index, only the distinct rows.
        group: members of each group.
        slope: of the leaky ReLU for negative values.
        weight: [2 · channels, out].
        index: [group · b] the row of h that each row is equal to.
        repeats: the same index as a GPU needs it, if the sampler provides it.
        factors: [b, group] of a weighted sum in place of the mean.

    Returns:
        [b, out].
    """
    is_compiling = torch.compiler.is_compiling()  # also in torch.export, which cannot trace the kernels
    if not is_compiling and h.device.type == "cpu" and h.dtype == torch.float32:
        rows = torch.arange(h.shape[0]) if index is None else index
        joined: Tensor = _CombineOnCpu.apply(h, rows, group, slope, factors)
        return joined @ weight
    if index is not None and repeats is None:
        h = h.index_select(0, index)
    if not is_compiling and h.device.type == "cuda" and factors is None and h.dtype in (torch.float32, torch.bfloat16):
        out: Tensor = _CombineProjectOnGpu.apply(h, weight, group, slope, repeats)
        return out
    return plain_combine(h if repeats is None else expand(h, repeats), group, slope, factors) @ weight


def plain_combine(h: Tensor, group: int, slope: float, factors: Tensor | None = None) -> Tensor:
    """Concat(σ(h_t), mean of σ(h) over the group of t) in torch: [group · b, channels] to [b, 2 · channels]."""
    active = functional.leaky_relu(h, slope).view(group, -1, h.shape[1])
    mean = active.mean(dim=0) if factors is None else torch.einsum("bg,gbc->bc", factors.to(h.dtype), active)
    return torch.cat([active[0], mean], dim=1)


class _CombineOnCpu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, index: Tensor, group: int, slope: float, factors: Tensor | None) -> Tensor:
        h, b = h.contiguous(), index.numel() // group
        factors = h.new_empty(0, group) if factors is None else factors
        ctx.save_for_backward(h, index, factors)
        ctx.group, ctx.slope = group, np.float32(slope)
        out = h.new_empty(b, 2 * h.shape[1])
        _forward(h.detach().numpy(), index.numpy(), factors.numpy(), group, ctx.slope, out.numpy())
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None, None]:
        h, index, factors = ctx.saved_tensors
        out, coming = torch.zeros_like(h), gradients[0].contiguous()
        arrays = (h.detach().numpy(), index.numpy(), factors.numpy())
        _backward(*arrays, ctx.group, ctx.slope, coming.numpy(), out.numpy())
        return out, None, None, None, None


class _CombineProjectOnGpu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, weight: Tensor, group: int, slope: float, repeats: Repeats | None) -> Tensor:
        from mggcn.kernels.gpu import combine as gpu

        h, index = h.contiguous(), None if repeats is None else repeats.index
        out, joined = gpu.forward(h, group, slope, weight, index)
        ctx.save_for_backward(h, weight, joined)
        ctx.group, ctx.slope, ctx.repeats, ctx.index = group, slope, repeats, index
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        from mggcn.kernels.gpu import combine as gpu

        h, weight, joined = ctx.saved_tensors
        grad_out = gradients[0].contiguous()
        grad_h, grad_weight = gpu.backward(h, ctx.group, ctx.slope, weight, joined, grad_out, ctx.index)
        if ctx.repeats is not None:
            grad_h = segment_sum(grad_h, ctx.repeats)
        return grad_h, grad_weight, None, None, None


@compiled
def _forward(h, index, factors, group, slope, out):
    """Fill ``out`` [b, 2 · channels]; row i of the batch is row ``index[i]`` of h. Without factors, take the mean."""
    b, channels, is_mean = out.shape[0], h.shape[1], factors.shape[0] == 0
    share = np.float32(1.0 / group) if is_mean else np.float32(1)
    for t in range(b):
        root, mean, row = out[t, :channels], out[t, channels:], h[index[t]]
        factor = np.float32(1) if is_mean else factors[t, 0]
        for c in range(channels):
            root[c] = max(row[c], np.float32(0)) + slope * min(row[c], np.float32(0))
        for c in range(channels):
            mean[c] = factor * root[c]
        for i in range(1, group):
            row = h[index[i * b + t]]
            factor = np.float32(1) if is_mean else factors[t, i]
            for c in range(channels):
                mean[c] += factor * (max(row[c], np.float32(0)) + slope * min(row[c], np.float32(0)))
        for c in range(channels):
            mean[c] *= share


@compiled
def _backward(h, index, factors, group, slope, gradient, out):
    """Add the gradient of h to ``out``, from that of the result; rows that repeat add up in their order."""
    b, channels, is_mean = gradient.shape[0], h.shape[1], factors.shape[0] == 0
    for i in range(group):
        weight = np.float32(1.0 if i == 0 else 0.0)
        for t in range(b):
            share = np.float32(1.0 / group) if is_mean else factors[t, i]
            root, mean = gradient[t, :channels], gradient[t, channels:]
            row, out_row = h[index[i * b + t]], out[index[i * b + t]]
            for c in range(channels):
                factor = np.float32(1) if row[c] > 0 else slope
                out_row[c] += factor * (mean[c] * share + weight * root[c])
