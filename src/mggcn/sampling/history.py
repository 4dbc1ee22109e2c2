"""Batches for control variates: a few drawn neighbours of each receiver to compute, and all of them to look up."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from mggcn.block import Batch, CPUSampler, HistoryBlock, split_targets
from mggcn.kernels.relabel import block_between
from mggcn.kernels.subset import subset
from mggcn.keys import Key


@dataclass(frozen=True, eq=False)
class HistorySampler(CPUSampler):
    """Draws a few entries of each receiver's row, layer by layer from the targets down.

    Args:
        adjacency: [num_nodes, num_nodes] whose row v holds the factors of the senders of v.
        layers: the number of blocks.
        fanout: entries drawn from each row, uniformly without replacement.
    """

    adjacency: csr_array
    layers: int
    fanout: int

    def batches(self, targets: NDArray[np.int64] | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:
        """One pass over ``targets``."""
        return (self.batch(part, key.fold(n)) for n, part in enumerate(split_targets(targets, batch_size)))

    def batch(self, targets: NDArray[np.int64], key: Key) -> Batch:
        """The batch of some distinct targets."""
        blocks: list[HistoryBlock] = []
        nodes = targets
        for layer in range(self.layers):
            block, nodes = self._block(nodes, key.fold(layer))
            blocks.insert(0, block)
        return Batch(torch.from_numpy(nodes), tuple(blocks), torch.from_numpy(targets))

    def _block(self, receivers: NDArray[np.int64], key: Key) -> tuple[HistoryBlock, NDArray[np.int64]]:
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
