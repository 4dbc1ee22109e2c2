"""From distinct rows to rows that repeat, with a gradient that is summed in a fixed order."""

from typing import Any

import torch
from torch import Tensor

from mggcn.block import Repeats


def expand(distinct: Tensor, repeats: Repeats) -> Tensor:
    """[c, channels] on a GPU to [n, channels]: every row of a batch from the distinct one it repeats."""
    out: Tensor = _Expand.apply(distinct, repeats)  # type: ignore[no-untyped-call]
    return out


def segment_sum(rows: Tensor, repeats: Repeats) -> Tensor:
    """[n, channels] on a GPU to [c, channels]: for each distinct row the sum of those that repeat it, in order."""
    from mggcn.kernels.expand import gpu

    return gpu.segment_sum(rows.contiguous(), repeats.indptr, repeats.order)


class _Expand(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, distinct: Tensor, repeats: Repeats) -> Tensor:
        ctx.repeats = repeats
        return distinct.index_select(0, repeats.place)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return segment_sum(gradients[0], ctx.repeats), None
