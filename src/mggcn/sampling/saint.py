"""Batches of random sub-graphs, with factors that make their sums and their loss unbiased.

The sub-graph induced by random walks contains node v with probability p_v and the edge from u to v with p_uv. Both are
estimated from sub-graphs drawn beforehand: C_v and C_uv out of N. A sum over those neighbours of v that are in the
sub-graph divides each term by alpha_uv = C_uv / C_v, and the loss divides the term of v by C_v / N.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from mggcn.block import Batch, CPUSampler, Nodes, node_ids
from mggcn.graph import Graph
from mggcn.kernels.relabel import Subgraph, subgraph
from mggcn.kernels.walk import visited
from mggcn.keys import Key
from mggcn.sampling._induced import induced_batch, targets_first


@dataclass(frozen=True, eq=False)
class Counts:
    """How many of the sub-graphs drawn beforehand contain each node and each edge.

    Attributes:
        draws: the number of sub-graphs, N.
        nodes: [num_nodes] C_v.
        edges: [num_stored] C_uv of each stored entry.
    """

    draws: int
    nodes: NDArray[np.int32]
    edges: NDArray[np.int32]


@dataclass(eq=False)
class SaintSampler(CPUSampler):
    """Draws one sub-graph per batch; a pass has as many batches as contain each target once on average.

    Args:
        graph: to walk on.
        layers: the number of blocks.
        roots: the number of roots of a sub-graph, drawn among the targets.
        length: the steps of each walk.
        coverage: how many of the sub-graphs drawn beforehand contain a target, on average.
        key: of the sub-graphs drawn beforehand, which happens when the first batches are requested.
    """

    graph: Graph
    layers: int
    roots: int
    length: int
    coverage: float
    key: Key
    _counted: tuple[Nodes, Counts] | None = field(default=None, init=False, repr=False)

    @cached_property
    def _share(self) -> NDArray[np.float64]:
        """[num_nodes] a neighbour's factor in the mean over a node and its neighbours in the whole graph."""
        return 1 / (1 + np.diff(self.graph.indptr))

    def batches(self, targets: Nodes | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:  # noqa: ARG002
        """Random sub-graphs that contain each target once on average; the batch size is ignored."""
        pool = np.sort(node_ids(targets))
        if self._counted is None or not np.array_equal(self._counted[0], pool):
            self._counted = pool, self.count(pool)
        return self._assemble(pool, self._counted[1], key)

    def draw(self, pool: Nodes, key: Key) -> Nodes:
        """The nodes of one sub-graph, whose roots are drawn from ``pool``."""
        return visited(self.graph, pool, self.roots, self.length, key)

    def count(self, pool: Nodes) -> Counts:
        """Draw sub-graphs until each node of the pool is in ``coverage`` of them on average, and count."""
        in_pool = self._mask(pool)
        nodes, edges = np.zeros(self.graph.num_nodes, np.int32), np.zeros(self.graph.num_stored, np.int32)
        draws, covered = 0, 0
        while covered < self.coverage * pool.size:
            part = subgraph(self.graph, self.draw(pool, self.key.fold(draws)))
            nodes[part.nodes] += 1
            edges[part.entries[part.entries >= 0]] += 1
            covered += int(np.count_nonzero(in_pool[part.nodes]))
            draws += 1
        return Counts(draws, nodes, edges)

    def _mask(self, pool: Nodes) -> NDArray[np.bool_]:
        mask = np.zeros(self.graph.num_nodes, bool)
        mask[pool] = True
        return mask

    def _assemble(self, pool: Nodes, counts: Counts, key: Key) -> Iterator[Batch]:
        is_target = self._mask(pool)
        per_draw = counts.nodes[pool].sum() / counts.draws
        for number in range(math.ceil(pool.size / per_draw)):
            nodes, num_targets = targets_first(self.draw(pool, key.fold(number)), is_target)
            part = subgraph(self.graph, nodes)
            seen = np.maximum(counts.nodes[nodes[:num_targets]], 1)
            loss_weight = (counts.draws / (seen * float(pool.size))).astype(np.float32)
            yield induced_batch(part, self.weight(part, counts), num_targets, self.layers, loss_weight)

    def weight(self, part: Subgraph, counts: Counts) -> NDArray[np.float32]:
        """[e] Ã_vu / alpha_uv for every entry of a sub-graph, where Ã is the mean over a node and its neighbours.

        Entries that were never counted have the count 1; self-loops need no correction, since alpha_vv = 1.
        """
        size = np.diff(part.indptr)
        factor = np.repeat(self._share[part.nodes], size)
        others = part.entries >= 0
        seen = np.repeat(np.maximum(counts.nodes[part.nodes], 1), size)[others]
        factor[others] *= seen / np.maximum(counts.edges[part.entries[others]], 1)
        return factor.astype(np.float32)
