"""Samplers without draws whose batches have no blocks, or blocks over the whole graph."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from mggcn._io import memory
from mggcn._io.arrays import shared_tensor
from mggcn.block import Batch, Block, CPUSampler, Nodes, Sampler, node_ids
from mggcn.keys import Key

_KEPT_BATCHES = 2  # of the training and the validation nodes


@dataclass(frozen=True)
class RowSampler(Sampler, draws_per_target=True):
    """Cuts the targets into batches without blocks, for models that read only the target's own features.

    Args:
        device: of the batches.
    """

    device: torch.device = CPUSampler.device

    def batches(self, targets: Nodes | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:  # noqa: ARG002
        """One pass over ``targets``."""
        nodes = targets if isinstance(targets, Tensor) else shared_tensor(node_ids(targets))
        return self._cut(nodes.to(self.device), batch_size)

    def _cut(self, nodes: Tensor, batch_size: int) -> Iterator[Batch]:
        if nodes.is_cuda:
            nodes.record_stream(torch.cuda.current_stream())
        for part in torch.split(nodes, batch_size):
            yield Batch(part, (), part)


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
class WholeGraphSampler(AdjacencySampler, one_batch=True):
    """Puts all targets in one batch in which every layer computes all nodes that they depend on.

    Args:
        on: the device of the batches. The last ones are kept there, so that every epoch after the first reuses them.
        is_summed: the input rows are sums over the senders already, so the first block has no other ones.
    """

    bytes_per_edge: ClassVar[int] = 48  # senders and factors of the layer below and the last, also sorted by sender

    on: torch.device = CPUSampler.device
    is_summed: bool = False
    _kept: dict[bytes, Batch] = field(default_factory=dict, repr=False)

    def batches(self, targets: Nodes | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:  # noqa: ARG002
        """All ``targets`` in one batch, whatever the batch size."""
        receivers = node_ids(targets)
        name = receivers.tobytes()
        batch = self._kept.pop(name, None)
        if batch is None:
            batch = self._batch(receivers)
        self._kept[name] = batch
        if len(self._kept) > _KEPT_BATCHES:
            del self._kept[next(iter(self._kept))]
        yield batch

    def _batch(self, targets: Nodes) -> Batch:
        blocks: list[Block] = []
        nodes = targets
        for _ in range(self.layers - int(self.is_summed)):
            block, nodes = self._block(nodes)
            blocks.insert(0, block)
        if self.is_summed:
            blocks.insert(0, _only_themselves(nodes.size).to(self.on))
        return Batch(shared_tensor(nodes).to(self.on), tuple(blocks), shared_tensor(targets).to(self.on))

    def _block(self, receivers: Nodes) -> tuple[Block, Nodes]:
        """The block of some receivers, and the nodes of its rows: receivers and senders, in ascending order."""
        every = np.arange(self.adjacency.shape[0])
        if np.array_equal(receivers, every):
            return self._whole, every
        rows, is_row = self.adjacency[receivers], np.zeros(every.size, np.bool_)
        is_row[receivers] = is_row[rows.indices] = True
        nodes = np.flatnonzero(is_row)
        row_of = every if nodes.size == every.size else np.cumsum(is_row) - 1
        return _block(rows, row_of[rows.indices], row_of[receivers], nodes.size).to(self.on), nodes

    @cached_property
    def _whole(self) -> Block:
        every = np.arange(self.adjacency.shape[0])
        return _block(self.adjacency, self.adjacency.indices, every, every.size).to(self.on)


def _only_themselves(count: int) -> Block:
    rows = torch.arange(count)
    return Block(count, torch.arange(count + 1), rows, rows, group=1)


def _block(rows: csr_array, senders: Nodes, receivers: Nodes, num_src: int) -> Block:
    """The block of some rows of the adjacency; senders and receivers are rows of the layer below."""
    memory.require(16 * senders.size, f"a block of {senders.size:,} edges")
    indptr = torch.from_numpy(np.array(rows.indptr, np.int64))
    indices = shared_tensor(senders.astype(np.int64, copy=False))
    return Block(num_src, indptr, indices, torch.from_numpy(receivers), torch.from_numpy(rows.data))
