"""GraphSAGE's sampler: a fixed fan-out per layer, drawn from the targets down."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn.block import Batch, Block, node_numbers
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels.neighbors import draw_neighbours
from mggcn.kernels.relabel import block_between
from mggcn.keys import Key


@dataclass(frozen=True, eq=False)
class NeighborSampler:
    """Lets every receiver hear a few of its neighbours, drawn uniformly without replacement.

    What a receiver hears depends on the key, the layer and the receiver alone, so a target is scored alike in any
    company. Blocks ask for the mean, and list a receiver's senders in the random order in which they were drawn.

    Args:
        graph: whose rows list the neighbours.
        fanouts: neighbours a receiver, one number per layer in the order of the hops: (25, 10) is 25 for the targets
            and 10 for each of the nodes that they hear.
        include_self: whether a receiver is also its own sender, before the others.
        threads: of the kernel; all cores when None. The result does not depend on it.
    """

    graph: Graph
    fanouts: tuple[int, ...]
    include_self: bool = False
    threads: int | None = None

    def __post_init__(self) -> None:
        for fanout in self.fanouts:
            if fanout < 1:
                raise InputError(f"fanouts: {fanout} is less than 1")

    @property
    def device(self) -> torch.device:
        """The CPU."""
        return torch.device("cpu")

    def batches(self, targets: NDArray[np.int64] | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:
        """One pass over ``targets``; each batch is drawn when it is asked for."""
        chosen = node_numbers(targets)
        return (self.batch(chosen[start : start + batch_size], key) for start in range(0, chosen.size, batch_size))

    def batch(self, targets: NDArray[np.int64], key: Key) -> Batch:
        """One batch of distinct targets."""
        blocks: list[Block] = []
        nodes = targets
        for hop, fanout in enumerate(self.fanouts):
            indptr, senders = draw_neighbours(
                self.graph, nodes, fanout, key.fold(hop), include_self=self.include_self, threads=self.threads
            )
            block, nodes = block_between(nodes, indptr, senders, self.graph.num_nodes)
            blocks.insert(0, block)
        return Batch(torch.from_numpy(nodes), tuple(blocks), torch.from_numpy(targets))
