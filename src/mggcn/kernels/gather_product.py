"""Multiplies rows of a bfloat16 matrix on a GPU by weights without copying the rows first.

Rows in float32 are copied: Triton's products in tf32 are slower than those of cuBLAS by more than the copy takes.
"""

from typing import Any

import torch
from torch import Tensor


def gather_product(table: Tensor, nodes: Tensor, weight: Tensor) -> Tensor:
    """Compute ``table[nodes][:, :width] @ weight``; only the weights have a gradient.

    Args:
        table: [num_nodes, stride] float32 or bfloat16, with zeros in the columns from ``width`` on.
        nodes: [n] rows of the table.
        weight: [width, channels] float32.

    Returns:
        [n, channels] in the dtype of the table.
    """
    if table.dtype != torch.bfloat16:
        return table.index_select(0, nodes)[:, : weight.shape[0]] @ weight
    out: Tensor = _GatherProduct.apply(weight, table, nodes)  # type: ignore[no-untyped-call]
    return out


class _GatherProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, table: Tensor, nodes: Tensor) -> Tensor:
        from mggcn.kernels.gpu import gather_product as gpu

        ctx.table, ctx.nodes, ctx.width = table, nodes, weight.shape[0]
        return gpu.product(table, nodes, weight.to(table.dtype).contiguous())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        from mggcn.kernels.gpu import gather_product as gpu

        return gpu.gradient(ctx.table, ctx.nodes, gradients[0].contiguous(), ctx.width), None, None
