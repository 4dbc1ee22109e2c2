"""Samplers of neighbourhoods, from the targets down: of all neighbours, or of some that are drawn for each receiver."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn._io.arrays import shared_tensor
from mggcn.block import Batch, Block, CPUSampler, HistoryBlock, Nodes, split_targets
from mggcn.graph import Graph
from mggcn.kernels.neighbors import draw_neighbours, subset
from mggcn.kernels.relabel import block_between
from mggcn.keys import Key
from mggcn.sampling.full import AdjacencySampler


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
    """Draws some neighbours of every receiver, uniformly without replacement.

    The neighbours drawn for a receiver depend only on the key, the layer and the receiver, so the score of a target
    does not depend on the rest of its batch. Blocks have no weights (the mean), and list the senders of a receiver in
    the random order in which they were drawn.

    Args:
        graph: whose rows list the neighbours.
        fanouts: neighbours per receiver, one number per hop: (25, 10) draws 25 for each target and 10 for each node
            drawn for the targets.
        include_self: list each receiver as its first sender.
        names: [num_nodes] what identifies a node in the hashes of its draws; the node number when None.
        threads: of the kernel; all cores when None. The result does not depend on it.
    """

    graph: Graph
    fanouts: tuple[int, ...]
    include_self: bool = False
    threads: int | None = None
    names: NDArray[np.int64] | None = None

    @property
    def layers(self) -> int:  # type: ignore[override]
        """The number of blocks."""
        return len(self.fanouts)

    def batches(self, targets: Nodes | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:
        """One pass over ``targets``; each batch is drawn when the iterator reaches it."""
        return (self.batch(part, key) for part in split_targets(targets, batch_size))

    def block(self, receivers: Nodes, layer: int, key: Key) -> tuple[Block, Nodes]:
        """The drawn neighbours of the receivers."""
        fanout, threads = self.fanouts[layer], self.threads
        indptr, senders = draw_neighbours(
            self.graph, receivers, fanout, key, include_self=self.include_self, names=self.names, threads=threads
        )
        return block_between(receivers, indptr, senders, self.graph.num_nodes)
