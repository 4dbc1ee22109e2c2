"""A lower bound for an epoch: the gathers and products of the first layer, which every implementation needs."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from scipy.sparse import csr_array, hstack
from torch import Tensor

from mggcn.dataset import Dataset
from mggcn.kernels.aggregate import neighbour_mean
from mggcn.train.scaling import Scaler


def cost(batches: Sequence[Tensor], width: int, hidden: int) -> dict[str, int]:
    """What the products of an epoch over dense rows gather and compute, by counting.

    X·W and Xᵀ·G take a multiplication and an addition for each pair of numbers.
    """
    rows = sum(nodes.numel() for nodes in batches)
    return {"rows": rows, "gathered_bytes": rows * width * 4, "operations": 2 * 2 * rows * width * hidden}


def dense(
    batches: Sequence[Tensor], num_nodes: int, width: int, hidden: int, device: torch.device
) -> Callable[[], None]:
    """The bare products of an epoch over dense rows; buffers are created here, outside the timing.

    ``batches`` has the nodes of the input rows of each batch; ``hidden`` is the number of columns of W.
    """
    table = torch.rand(num_nodes, width, device=device)
    weight = torch.rand(width, hidden, device=device)
    largest = max(nodes.numel() for nodes in batches)
    rows, gradient = table.new_empty(largest, width), torch.rand(largest, hidden, device=device)
    out, update = torch.empty_like(gradient), torch.empty_like(weight)
    batches = [nodes.to(device) for nodes in batches]

    def multiply() -> None:
        for nodes in batches:
            count = nodes.numel()
            torch.index_select(table, 0, nodes, out=rows[:count])
            torch.mm(rows[:count], weight, out=out[:count])
            torch.mm(rows[:count].t(), gradient[:count], out=update)

    return multiply


def sparse(
    batches: Sequence[Tensor], dataset: Dataset, scaler: Scaler, include_self: bool, hidden: int
) -> Callable[[], None]:
    """The same over sparse rows, with scipy."""
    x = scaler.apply(dataset.x)
    table = csr_array(hstack([x, neighbour_mean(dataset.graph, x, include_self=include_self)], format="csr"))
    rng = np.random.default_rng(0)
    weight = rng.random((table.shape[1], hidden), np.float32)
    gradient = rng.random((max(nodes.numel() for nodes in batches), hidden), np.float32)
    arrays = [nodes.cpu().numpy() for nodes in batches]

    def multiply() -> None:
        for nodes in arrays:
            rows = table[nodes]
            rows @ weight
            rows.T @ gradient[: nodes.size]

    return multiply
