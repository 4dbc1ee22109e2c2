"""The product of some rows of a sparse matrix and a dense matrix; differentiable in the dense matrix.

torch's CPU kernels for this (embedding bags, CSR products) take 10 to 200 times as long at a batch's size.
"""

from typing import Any

import torch
from scipy.sparse import csr_array
from torch import Tensor

from mggcn.kernels._compiled import AnyInts, Floats, compiled
from mggcn.kernels.gather_sum import fill_row


def sparse_product(x: csr_array, nodes: Tensor, weight: Tensor) -> Tensor:
    """Multiply the rows ``nodes`` of x by ``weight``, on the CPU.

    Args:
        x: [num_nodes, width] float32.
        nodes: [n].
        weight: [width, channels].

    Returns:
        [n, channels].
    """
    out: Tensor = _SparseProduct.apply(weight, x, nodes)  # type: ignore[no-untyped-call]
    return out


class _SparseProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, x: csr_array, nodes: Tensor) -> Tensor:
        ctx.x, ctx.nodes, ctx.shape = x, nodes, weight.shape
        out = weight.new_empty(nodes.numel(), weight.shape[1])
        _product(x.indptr, x.indices, x.data, nodes.numpy(), weight.detach().numpy(), out.numpy())
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        grad_out, x = gradients[0].contiguous(), ctx.x
        out = grad_out.new_zeros(ctx.shape)
        _gradient(x.indptr, x.indices, x.data, ctx.nodes.numpy(), grad_out.numpy(), out.numpy())
        return out, None, None


@compiled
def _product(indptr: AnyInts, indices: AnyInts, data: Floats, nodes: AnyInts, weight: Floats, out: Floats) -> None:
    """Fill ``out`` [n, channels]."""
    for row in range(nodes.size):
        fill_row(indices, data, indptr[nodes[row]], indptr[nodes[row] + 1], weight, out[row])


@compiled
def _gradient(indptr: AnyInts, indices: AnyInts, data: Floats, nodes: AnyInts, grad_out: Floats, out: Floats) -> None:
    """Add the gradient to ``out`` [width, channels], row after row in the order of ``nodes``."""
    channels = grad_out.shape[1]
    for row in range(nodes.size):
        grad_row = grad_out[row]
        for entry in range(indptr[nodes[row]], indptr[nodes[row] + 1]):
            value, out_row = data[entry], out[indices[entry]]
            for c in range(channels):
                out_row[c] += value * grad_row[c]
