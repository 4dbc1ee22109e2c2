"""The product of some rows of a matrix with weights, in torch."""

from torch import Tensor


def gather_product(table: Tensor, nodes: Tensor, weight: Tensor) -> Tensor:
    """[num_nodes, stride], [n], [width, channels] to [n, channels]."""
    return table[nodes.long()][:, : weight.shape[0]] @ weight
