"""Samplers of neighbourhoods: of none, of all neighbours, of some that are drawn, or of the whole graph."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from mggcn._io import memory
from mggcn._io.arrays import shared_tensor
from mggcn.block import Batch, Block, CPUSampler, HistoryBlock, Nodes, Sampler, node_ids, split_targets
from mggcn.graph import Graph
from mggcn.kernels.edges import edge_data
from mggcn.kernels.neighbors import draw_neighbours, subset
from mggcn.kernels.pick import PickTable
from mggcn.kernels.relabel import block_between
from mggcn.keys import Key
from mggcn.sampling.adjacency import unequal_weights
from mggcn.sampling.grains import weighed, with_edges

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
            rows = torch.arange(nodes.size)
            only_themselves = Block(nodes.size, torch.arange(nodes.size + 1), rows, rows, group=1)
            blocks.insert(0, only_themselves.to(self.on))
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


def _block(rows: csr_array, senders: Nodes, receivers: Nodes, num_src: int) -> Block:
    """The block of some rows of the adjacency; senders and receivers are rows of the layer below."""
    memory.require(16 * senders.size, f"a block of {senders.size:,} edges")
    indptr = torch.from_numpy(np.array(rows.indptr, np.int64))
    indices = shared_tensor(senders.astype(np.int64, copy=False))
    return Block(num_src, indptr, indices, torch.from_numpy(receivers), torch.from_numpy(rows.data))


class TopDownSampler(CPUSampler, ABC):
    """Base class: makes the blocks of a batch one after the other, the block of the targets first."""

    layers: int

    def batches(self, targets: Nodes | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:
        """One pass over ``targets``; each batch is drawn when the iterator reaches it."""
        return (self.batch(part, key.fold(n)) for n, part in enumerate(split_targets(targets, batch_size)))

    def batch(self, targets: Nodes, key: Key) -> Batch:
        """The batch of some distinct targets."""
        blocks: list[Block] = []
        nodes = targets
        for layer in range(self.layers):
            block, nodes = self.block(nodes, layer, key.fold(layer))
            blocks.insert(0, block)
        return Batch(shared_tensor(nodes), tuple(blocks), shared_tensor(targets))

    @abstractmethod
    def block(self, receivers: Nodes, layer: int, key: Key) -> tuple[Block, Nodes]:
        """The block of some receivers, ``layer`` layers below the targets, and the nodes of the rows below it."""


@dataclass(frozen=True, eq=False)
class FullSampler(AdjacencySampler, TopDownSampler, draws_per_target=True):
    """Gives each target its complete neighbourhood, with as many hops as layers, so that scores are exact."""

    def block(self, receivers: Nodes, layer: int, key: Key) -> tuple[Block, Nodes]:  # noqa: ARG002
        """All senders of the receivers."""
        rows = self.adjacency[receivers]
        return block_between(receivers, rows.indptr, rows.indices, rows.shape[1], rows.data)


@dataclass(frozen=True, eq=False)
class HistorySampler(AdjacencySampler, TopDownSampler):
    """Draws a few entries of each receiver's row to compute, for control variates; all of them are looked up.

    The history of a node is of the rank that computed it, so that ranks cannot share a batch.

    Args:
        fanout: entries drawn from each row, uniformly without replacement.
    """

    fanout: int

    def block(self, receivers: Nodes, layer: int, key: Key) -> tuple[HistoryBlock, Nodes]:  # noqa: ARG002
        """The drawn senders of the receivers, and all of them."""
        rows = self.adjacency[receivers]
        indptr, drawn = subset(rows.indptr, receivers, self.fanout, key)
        count = np.diff(indptr)
        scale = np.repeat(np.diff(rows.indptr) / np.maximum(count, 1), count)
        weight = (scale * rows.data[drawn]).astype(np.float32)
        noise = (np.sqrt(scale) * rows.data[drawn]).astype(np.float32)
        drawn_edges, nodes = block_between(receivers, indptr, rows.indices[drawn], rows.shape[1], weight)
        all_indptr, all_nodes = (torch.from_numpy(part.astype(np.int64)) for part in (rows.indptr, rows.indices))
        block = HistoryBlock(
            **vars(drawn_edges),
            num_nodes=rows.shape[1],
            nodes=torch.from_numpy(nodes),
            noise=torch.from_numpy(noise),
            all_indptr=all_indptr,
            all_nodes=all_nodes,
            all_weight=torch.from_numpy(rows.data),
        )
        return block, nodes


@dataclass(frozen=True, eq=False)
class NeighborSampler(TopDownSampler, draws_per_target=True):
    """Draws some neighbours of every receiver without replacement, uniformly or in proportion to the weights of edges.

    The neighbours drawn for a receiver depend only on the key, the layer and the receiver, so the score of a target
    does not depend on the rest of its batch. Blocks have no weights (the mean) unless they weigh, and list the senders
    of a receiver in the random order in which they were drawn.

    Args:
        graph: whose rows list the neighbours.
        fanouts: neighbours per receiver, one number per hop: (25, 10) draws 25 for each target and 10 for each node
            drawn for the targets.
        include_self: list each receiver as its first sender.
        names: [num_nodes] what identifies a node in the hashes of its draws; the node number when None.
        threads: of the kernel; all cores when None. The result does not depend on it.
        by_weight: draw in proportion to weight; uniformly if all weights are 1.
        edges: whether blocks have ``edge_weight`` and ``edge_type``.
        weigh: whether the mean over the drawn neighbours is weighted by ``edge_weight``, which is 1 for the receiver
            itself; if all weights are 1 nothing changes.
    """

    graph: Graph
    fanouts: tuple[int, ...]
    include_self: bool = False
    threads: int | None = None
    names: NDArray[np.int64] | None = None
    by_weight: bool = False
    edges: bool = False
    weigh: bool = False

    @property
    def layers(self) -> int:  # type: ignore[override]
        """The number of blocks."""
        return len(self.fanouts)

    def batches(self, targets: Nodes | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:
        """One pass over ``targets``; each batch is drawn when the iterator reaches it."""
        return (self.batch(part, key) for part in split_targets(targets, batch_size))

    def block(self, receivers: Nodes, layer: int, key: Key) -> tuple[Block, Nodes]:
        """The drawn neighbours of the receivers."""
        indptr, senders = draw_neighbours(
            self.graph,
            receivers,
            self.fanouts[layer],
            key,
            include_self=self.include_self,
            names=self.names,
            sums=self._sums,
            threads=self.threads,
        )
        block, nodes = block_between(receivers, indptr, senders, self.graph.num_nodes)
        weigh = self.weigh and self._is_weighted
        if self.edges or weigh:
            of_edges = edge_data(self.graph, np.repeat(receivers, np.diff(indptr)), senders, threads=self.threads)
            block = with_edges(block, of_edges)
        return (weighed(block) if weigh else block), nodes

    @cached_property
    def _is_weighted(self) -> bool:
        return unequal_weights(self.graph) is not None

    @cached_property
    def _sums(self) -> NDArray[Any] | None:
        if not (self.by_weight and self._is_weighted):
            return None
        return PickTable.of(self.graph, by="weight", threads=self.threads).sums
