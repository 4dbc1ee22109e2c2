"""Batches in which every layer runs on the same sub-graph."""

import numpy as np
import torch
from numpy.typing import NDArray

from mggcn.block import Batch, Block, Nodes
from mggcn.kernels.relabel import Subgraph

Factors = NDArray[np.float32]


def targets_first(nodes: Nodes, is_target: NDArray[np.bool_]) -> tuple[Nodes, int]:
    """Reorder the nodes of a sub-graph so that its targets come first; also return the number of targets."""
    mask = is_target[nodes]
    return np.concatenate([nodes[mask], nodes[~mask]]), int(np.count_nonzero(mask))


def induced_batch(
    part: Subgraph, weight: Factors, num_targets: int, layers: int, loss_weight: Factors | None = None
) -> Batch:
    """Run all layers on a sub-graph whose first rows are the targets; the last layer computes only the targets.

    ``weight`` [e] has a factor for each entry of the sub-graph; ``loss_weight`` is as in :class:`mggcn.block.Batch`.
    """
    indptr, indices, factors = (torch.from_numpy(array) for array in (part.indptr, part.indices, weight))
    rows, stop = torch.arange(part.nodes.size), int(part.indptr[num_targets])
    below = Block(rows.numel(), indptr, indices, rows, factors)
    last = Block(rows.numel(), indptr[: num_targets + 1], indices[:stop], rows[:num_targets], factors[:stop])
    nodes = torch.from_numpy(part.nodes)
    target_weight = None if loss_weight is None else torch.from_numpy(loss_weight)
    return Batch(nodes, (*[below] * (layers - 1), last), nodes[:num_targets], target_weight)
