"""Blocks of whole neighbourhoods: nothing is sampled, so scores are exact and cost what the receptive field costs."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from mggcn.block import Batch, Block, node_numbers
from mggcn.kernels.relabel import block_between
from mggcn.keys import Key


@dataclass(frozen=True, eq=False)
class FullSampler:
    """Gives every target the whole of its neighbourhood, as many hops out as there are layers.

    Args:
        adjacency: [num_nodes, num_nodes] whose row v holds the factors of the senders that v hears.
        layers: the number of blocks.
    """

    adjacency: csr_array
    layers: int

    @property
    def device(self) -> torch.device:
        """The CPU."""
        return torch.device("cpu")

    def batches(self, targets: NDArray[np.int64] | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:  # noqa: ARG002
        """One pass over ``targets``."""
        chosen = node_numbers(targets)
        return (self.batch(chosen[start : start + batch_size]) for start in range(0, chosen.size, batch_size))

    def batch(self, targets: NDArray[np.int64]) -> Batch:
        """One batch of distinct targets."""
        blocks: list[Block] = []
        nodes = targets
        for _ in range(self.layers):
            rows = self.adjacency[nodes]
            indptr = rows.indptr.astype(np.int64)
            block, nodes = block_between(nodes, indptr, rows.indices, rows.shape[1], rows.data)
            blocks.insert(0, block)
        return Batch(torch.from_numpy(nodes), tuple(blocks), torch.from_numpy(targets))


@dataclass(frozen=True, eq=False)
class WholeGraphSampler:
    """Puts all targets in one batch: every layer below the last computes the whole graph.

    Args:
        adjacency: [num_nodes, num_nodes] whose row v holds the factors of the senders that v hears.
        layers: the number of blocks.
    """

    adjacency: csr_array
    layers: int

    @property
    def device(self) -> torch.device:
        """The CPU."""
        return torch.device("cpu")

    @cached_property
    def below(self) -> Block:
        """The block of every layer but the last."""
        return _block(self.adjacency, np.arange(self.adjacency.shape[0]))

    def batches(self, targets: NDArray[np.int64] | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:  # noqa: ARG002
        """All ``targets`` at once, whatever the batch size."""
        chosen = node_numbers(targets)
        last = _block(self.adjacency[chosen], chosen)
        nodes = torch.arange(self.adjacency.shape[0])
        yield Batch(nodes, (*[self.below] * (self.layers - 1), last), torch.from_numpy(chosen))


def _block(rows: csr_array, receivers: NDArray[np.int64]) -> Block:
    """The block of some rows over all nodes."""
    indptr, indices = (torch.from_numpy(part.astype(np.int64)) for part in (rows.indptr, rows.indices))
    return Block(rows.shape[1], indptr, indices, torch.from_numpy(receivers), torch.from_numpy(rows.data))
