"""Samplers that draw nothing: no blocks, blocks of whole neighbourhoods, or blocks over the whole graph."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from mggcn import memory
from mggcn.block import Batch, Block, CPUSampler, Nodes, node_ids, split_targets
from mggcn.kernels.relabel import block_between
from mggcn.keys import Key

_KEPT_BATCHES = 2  # of the training and the validation nodes


@dataclass(frozen=True)
class RowSampler(CPUSampler):
    """Cuts the targets into batches without blocks, for models that read only the target's own features."""

    draws_per_target: ClassVar[bool] = True

    def batches(self, targets: Nodes | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:  # noqa: ARG002
        """One pass over ``targets``."""
        nodes = torch.from_numpy(node_ids(targets))
        return (Batch(part, (), part) for part in torch.split(nodes, batch_size))


@dataclass(frozen=True, eq=False)
class AdjacencySampler(CPUSampler):
    """Base class of the samplers whose blocks are made from the rows of a matrix.

    Args:
        adjacency: [num_nodes, num_nodes] whose row v holds the factors of the senders of v.
        layers: the number of blocks.
    """

    adjacency: csr_array
    layers: int


@dataclass(frozen=True, eq=False)
class FullSampler(AdjacencySampler):
    """Gives each target its complete neighbourhood, with as many hops as layers, so that scores are exact."""

    draws_per_target: ClassVar[bool] = True

    def batches(self, targets: Nodes | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:
        """One pass over ``targets``."""
        return (self.batch(part, key.fold(n)) for n, part in enumerate(split_targets(targets, batch_size)))

    def batch(self, targets: Nodes, key: Key) -> Batch:
        """The batch of some distinct targets."""
        blocks: list[Block] = []
        nodes = targets
        for layer in range(self.layers):
            block, nodes = self._block(nodes, self.adjacency[nodes], key.fold(layer))
            blocks.insert(0, block)
        return Batch(torch.from_numpy(nodes), tuple(blocks), torch.from_numpy(targets))

    def _block(self, receivers: Nodes, rows: csr_array, key: Key) -> tuple[Block, Nodes]:  # noqa: ARG002
        return block_between(receivers, rows.indptr, rows.indices, rows.shape[1], rows.data)


@dataclass(frozen=True, eq=False)
class WholeGraphSampler(AdjacencySampler):
    """Puts all targets in one batch in which every layer below the last computes all nodes of the graph.

    Args:
        on: the device of the batches. The last ones are kept there, so that every epoch after the first reuses them.
    """

    one_batch: ClassVar[bool] = True
    bytes_per_edge: ClassVar[int] = 48  # senders and factors of the layer below and the last, also sorted by sender

    on: torch.device = CPUSampler.device
    _kept: dict[bytes, Batch] = field(default_factory=dict, repr=False)

    @cached_property
    def below(self) -> Block:
        """The block of every layer but the last."""
        memory.require(16 * self.adjacency.nnz, f"a block of {self.adjacency.nnz:,} edges")
        return _block(self.adjacency, np.arange(self.adjacency.shape[0])).to(self.on)

    def batches(self, targets: Nodes | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:  # noqa: ARG002
        """All ``targets`` in one batch, whatever the batch size."""
        receivers = node_ids(targets)
        name = receivers.tobytes()
        batch = self._kept.pop(name, None)
        if batch is None:
            last = _block(self.adjacency[receivers], receivers).to(self.on)
            nodes = torch.arange(self.adjacency.shape[0])
            batch = Batch(nodes, (*[self.below] * (self.layers - 1), last), torch.from_numpy(receivers)).to(self.on)
        self._kept[name] = batch
        if len(self._kept) > _KEPT_BATCHES:
            del self._kept[next(iter(self._kept))]
        yield batch


def _block(rows: csr_array, receivers: Nodes) -> Block:
    """The block of some rows of the adjacency; all nodes are rows of the layer below."""
    indptr, indices = (torch.from_numpy(part.astype(np.int64)) for part in (rows.indptr, rows.indices))
    return Block(rows.shape[1], indptr, indices, torch.from_numpy(receivers), torch.from_numpy(rows.data))
