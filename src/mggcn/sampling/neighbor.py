"""GraphSAGE's sampler: a fixed number of neighbours per layer, drawn from the targets down."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from mggcn._io.arrays import shared_tensor
from mggcn.block import Batch, Block, CPUSampler, split_targets
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels.neighbors import draw_neighbours
from mggcn.kernels.relabel import block_between
from mggcn.keys import Key


@dataclass(frozen=True, eq=False)
class NeighborSampler(CPUSampler, draws_per_target=True):
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

    def __post_init__(self) -> None:
        for fanout in self.fanouts:
            if fanout < 1:
                raise InputError(f"fanouts: {fanout} is less than 1")

    def batches(self, targets: NDArray[np.int64] | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:
        """One pass over ``targets``; each batch is drawn when the iterator reaches it."""
        return (self.batch(part, key) for part in split_targets(targets, batch_size))

    def batch(self, targets: NDArray[np.int64], key: Key) -> Batch:
        """The batch of some distinct targets."""
        blocks: list[Block] = []
        nodes = targets
        for hop, fanout in enumerate(self.fanouts):
            indptr, senders = draw_neighbours(
                self.graph,
                nodes,
                fanout,
                key.fold(hop),
                include_self=self.include_self,
                names=self.names,
                threads=self.threads,
            )
            block, nodes = block_between(nodes, indptr, senders, self.graph.num_nodes)
            blocks.insert(0, block)
        return Batch(shared_tensor(nodes), tuple(blocks), shared_tensor(targets))
