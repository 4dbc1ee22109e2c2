"""A grouped layer: activation, mean, concatenation and product, fused; with its gradients."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from mggcn.kernels.combine import reference


def combine_project(h: Tensor, group: int, slope: float, weight: Tensor) -> Tensor:
    """Concat(σ(h_t), mean of σ(h) over t's group) times W, σ the leaky ReLU.

    Args:
        h: [group · b, channels]; row ``i·b + t`` is the i-th member of group t, the 0-th its own.
        group: members of each group.
        slope: of the leaky ReLU on negative values.
        weight: [2 · channels, out].

    Returns:
        [b, out].
    """
    if h.device.type == "cpu" and h.dtype == torch.float32:
        joined: Tensor = _CombineOnCpu.apply(h, group, slope)  # type: ignore[no-untyped-call]
        return joined @ weight
    if h.device.type == "cuda" and h.dtype in (torch.float32, torch.bfloat16):
        out: Tensor = _CombineProjectOnGpu.apply(h, weight, group, slope)  # type: ignore[no-untyped-call]
        return out
    return reference.combine_project(h, group, slope, weight)


class _CombineOnCpu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, group: int, slope: float) -> Tensor:
        from mggcn.kernels.combine import cpu

        h = h.contiguous()
        ctx.save_for_backward(h)
        ctx.group, ctx.slope = group, np.float32(slope)
        out = h.new_empty(h.shape[0] // group, 2 * h.shape[1])
        cpu.forward(h.detach().numpy(), group, ctx.slope, out.numpy())
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        from mggcn.kernels.combine import cpu

        (h,) = ctx.saved_tensors
        out = torch.empty_like(h)
        cpu.backward(h.detach().numpy(), ctx.group, ctx.slope, gradients[0].contiguous().numpy(), out.numpy())
        return out, None, None


class _CombineProjectOnGpu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, weight: Tensor, group: int, slope: float) -> Tensor:
        from mggcn.kernels.combine import gpu

        h = h.contiguous()
        out, joined = gpu.forward(h, group, slope, weight)
        ctx.save_for_backward(h, weight, joined)
        ctx.group, ctx.slope = group, slope
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        from mggcn.kernels.combine import gpu

        h, weight, joined = ctx.saved_tensors
        of_h, of_weight = gpu.backward(h, ctx.group, ctx.slope, weight, joined, gradients[0].contiguous())
        return of_h, of_weight, None, None
