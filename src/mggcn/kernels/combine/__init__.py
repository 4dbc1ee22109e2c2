"""A grouped layer's activation, mean and concatenation, fused; with its gradient."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from mggcn.kernels.combine import reference


def combine(h: Tensor, group: int, slope: float) -> Tensor:
    """Concat(σ(h_t), mean of σ(h) over t's group), σ the leaky ReLU.

    Args:
        h: [group · b, channels]; row ``i·b + t`` is the i-th member of group t, the 0-th its own.
        group: members of each group.
        slope: of the leaky ReLU on negative values.

    Returns:
        [b, 2 · channels].
    """
    if h.dtype not in (torch.float32, torch.bfloat16) or (h.device.type == "cpu" and h.dtype != torch.float32):
        return reference.combine(h, group, slope)
    combined: Tensor = _Combine.apply(h, group, slope)  # type: ignore[no-untyped-call]
    return combined


class _Combine(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, group: int, slope: float) -> Tensor:
        h = h.contiguous()
        ctx.save_for_backward(h)
        ctx.group, ctx.slope = group, slope
        out = h.new_empty(h.shape[0] // group, 2 * h.shape[1])
        if h.device.type == "cpu":
            from mggcn.kernels.combine import cpu

            cpu.forward(h.detach().numpy(), group, np.float32(slope), out.numpy())
        else:
            from mggcn.kernels.combine import gpu

            gpu.forward(h, group, slope, out)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (h,) = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        out = torch.empty_like(h)
        if h.device.type == "cpu":
            from mggcn.kernels.combine import cpu

            cpu.backward(h.detach().numpy(), ctx.group, np.float32(ctx.slope), gradient.numpy(), out.numpy())
        else:
            from mggcn.kernels.combine import gpu

            gpu.backward(h, ctx.group, ctx.slope, gradient, out)
        return out, None, None
