"""Batches for control variates: a few drawn neighbours of each receiver to compute, and all of them to look up."""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_array

from mggcn.block import HistoryBlock, Nodes
from mggcn.kernels.neighbors import subset
from mggcn.kernels.relabel import block_between
from mggcn.keys import Key
from mggcn.sampling.full import FullSampler


@dataclass(frozen=True, eq=False)
class HistorySampler(FullSampler, draws_per_target=False):
    """Draws a few entries of each receiver's row, layer by layer from the targets down.

    The history of a node is of the rank that computed it, so that ranks cannot share a batch.

    Args:
        fanout: entries drawn from each row, uniformly without replacement.
    """

    fanout: int

    def _block(self, receivers: Nodes, rows: csr_array, key: Key) -> tuple[HistoryBlock, Nodes]:
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
