"""Copies distinct rows to the rows of a batch that repeat them; the gradient is summed in a fixed order."""

from typing import Any

import torch
from torch import Tensor

from mggcn.block import Repeats


def expand(distinct: Tensor, repeats: Repeats) -> Tensor:
    """[c, channels] on a GPU to [n, channels]: copy each distinct row to the rows of the batch that repeat it."""
    out: Tensor = _Expand.apply(distinct, repeats)  # type: ignore[no-untyped-call]
    return out


def segment_sum(rows: Tensor, repeats: Repeats) -> Tensor:
    """[n, channels] on a GPU to [c, channels]: for each distinct row, sum the rows that repeat it, in order."""
    from mggcn.kernels.gpu import expand as gpu

    return gpu.segment_sum(rows.contiguous(), repeats.indptr, repeats.order)


class _Expand(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, distinct: Tensor, repeats: Repeats) -> Tensor:
        ctx.repeats = repeats
        return distinct.index_select(0, repeats.index)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return segment_sum(gradients[0], ctx.repeats), None
