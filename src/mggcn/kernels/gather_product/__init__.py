"""Rows gathered from a table on a GPU and multiplied in one go; differentiable in the matrix."""

from typing import Any

import torch
from torch import Tensor


def gather_product(table: Tensor, nodes: Tensor, weight: Tensor) -> Tensor:
    """The rows of ``nodes`` times ``weight``.

    Args:
        table: [num_nodes, width], float32 or bfloat16, rows contiguous; a stride divisible by 16 loads fastest.
        nodes: [n].
        weight: [width, channels] float32.

    Returns:
        [n, channels] float32.
    """
    found: Tensor = _GatherProduct.apply(weight, table, nodes)  # type: ignore[no-untyped-call]
    return found


class _GatherProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, table: Tensor, nodes: Tensor) -> Tensor:
        from mggcn.kernels.gather_product import gpu

        ctx.table, ctx.nodes = table, nodes
        return gpu.product(table, nodes, weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        from mggcn.kernels.gather_product import gpu

        return gpu.gradient(ctx.table, ctx.nodes, gradients[0].contiguous()), None, None
