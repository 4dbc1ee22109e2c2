"""Rows of a table times a matrix, and the matrix's gradient, in plain torch."""

from torch import Tensor


def product(table: Tensor, nodes: Tensor, weight: Tensor) -> Tensor:
    """[n, channels]: the rows of ``nodes`` times ``weight`` [width, channels]."""
    return table[nodes.long()].float() @ weight


def gradient(table: Tensor, nodes: Tensor, coming: Tensor) -> Tensor:
    """[width, channels]: the gradient of ``weight`` from that of the product."""
    return table[nodes.long()].float().T @ coming
