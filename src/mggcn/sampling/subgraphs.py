"""Batches in which every layer runs on the same sub-graph: clusters of a partition, or random walks.

Clusters are a few random parts of a partition with all edges between their nodes.

The sub-graph induced by random walks contains node v with probability p_v and the edge from u to v with p_uv. Both are
estimated from sub-graphs drawn beforehand: C_v and C_uv out of N. A sum over those neighbours of v that are in the
sub-graph divides each term by alpha_uv = C_uv / C_v, and the loss divides the term of v by C_v / N.

Where edges have weights, means are weighted by them, a node itself weighs 1, and METIS cuts light edges rather than
heavy ones. Steps of walks are uniform all the same.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn._io import memory
from mggcn.block import Batch, Block, CPUSampler, Nodes, node_ids
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels.relabel import Subgraph, subgraph
from mggcn.kernels.walk import visited
from mggcn.keys import Key, folds
from mggcn.sampling.adjacency import unequal_weights

Factors = NDArray[np.float32]
_METIS_SEED = 1


def mask_of(nodes: Nodes, graph: Graph) -> NDArray[np.bool_]:
    """[num_nodes] whether each node of the graph is among some nodes."""
    mask = np.zeros(graph.num_nodes, bool)
    mask[nodes] = True
    return mask


def targets_first(nodes: Nodes, is_target: NDArray[np.bool_]) -> tuple[Nodes, int]:
    """Reorder the nodes of a sub-graph so that its targets come first; also return the number of targets."""
    mask = is_target[nodes]
    return np.concatenate([nodes[mask], nodes[~mask]]), int(np.count_nonzero(mask))


def induced_batch(
    part: Subgraph, weight: Factors, num_targets: int, layers: int, loss_weight: Factors | None = None
) -> Batch:
    """Run all layers on a sub-graph whose first rows are the targets; the last layer computes only the targets.

    ``weight`` [e] has a factor for each entry of the sub-graph; ``loss_weight`` is as in :class:`mggcn.block.Batch`.
    """
    indptr, indices, factors = (torch.from_numpy(array) for array in (part.indptr, part.indices, weight))
    rows, stop = torch.arange(part.nodes.size), int(part.indptr[num_targets])
    below = Block(rows.numel(), indptr, indices, rows, factors)
    last = Block(rows.numel(), indptr[: num_targets + 1], indices[:stop], rows[:num_targets], factors[:stop])
    nodes = torch.from_numpy(part.nodes)
    target_weight = None if loss_weight is None else torch.from_numpy(loss_weight)
    return Batch(nodes, (*[below] * (layers - 1), last), nodes[:num_targets], target_weight)


@dataclass(frozen=True, eq=False)
class ClusterSampler(CPUSampler):
    """Cuts the graph into parts once, and in every pass visits the parts a few at a time in random order.

    Args:
        graph: METIS cuts it when the first batches are requested.
        layers: the number of blocks.
        parts: the number of parts; at most the number of nodes that have an edge.
        parts_per_batch: the number of parts in one batch.
        diagonal: the factor λ of Ã + λ diag(Ã).
    """

    graph: Graph
    layers: int
    parts: int
    parts_per_batch: int
    diagonal: float = 0.0

    @cached_property
    def clusters(self) -> list[Nodes]:
        """The nodes of every part."""
        return partition(self.graph, self.parts)

    @cached_property
    def _weights(self) -> Factors | None:
        return unequal_weights(self.graph)

    def batches(self, targets: Nodes | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:  # noqa: ARG002
        """One pass over ``targets``, each exactly once; ``parts_per_batch`` and not the batch size sets the batches."""
        is_target = mask_of(node_ids(targets), self.graph)
        order = np.argsort(folds(key.value, len(self.clusters)), kind="stable")
        return self._assemble(order, is_target)

    def _assemble(self, order: NDArray[np.intp], is_target: NDArray[np.bool_]) -> Iterator[Batch]:
        for start in range(0, order.size, self.parts_per_batch):
            nodes = np.concatenate([self.clusters[part] for part in order[start : start + self.parts_per_batch]])
            nodes = nodes[is_target[nodes] | (self.graph.degrees[nodes] > 0)]
            nodes, num_targets = targets_first(nodes, is_target)
            if num_targets:
                part = subgraph(self.graph, nodes)
                yield induced_batch(part, self._weight(part), num_targets, self.layers)

    def _weight(self, part: Subgraph) -> NDArray[np.float32]:
        """Ã + λ diag(Ã) of the sub-graph, where Ã is the mean over a node and its neighbours in it."""
        size, given = np.diff(part.indptr), self._weights
        if given is None:
            weight = np.repeat(1 / size, size)
        else:
            weight = np.where(part.entries < 0, 1, given[part.entries]).astype(np.float64)
            weight /= np.repeat(np.add.reduceat(weight, part.indptr[:-1]), size)
        weight[part.indptr[:-1]] *= 1 + self.diagonal
        return weight.astype(np.float32)


def partition(graph: Graph, parts: int) -> list[Nodes]:
    """Cut the nodes into parts of about equal size with light edges between them; every call gives the same parts.

    METIS receives the nodes that have an edge, with directed edges taken both ways; the other nodes are distributed
    evenly over the parts.
    """
    linked, isolated = np.flatnonzero(graph.degrees > 0), np.flatnonzero(graph.degrees == 0)
    parts = max(1, min(parts, linked.size))
    labels = np.empty(graph.num_nodes, np.int64)
    labels[linked] = _metis(graph, linked, parts)
    labels[isolated] = np.arange(isolated.size) % parts
    order = np.argsort(labels, kind="stable")
    clusters = np.split(order, np.cumsum(np.bincount(labels, minlength=parts))[:-1])
    return [nodes for nodes in clusters if nodes.size]


def _metis(graph: Graph, linked: Nodes, parts: int) -> Nodes:
    try:
        import pymetis
    except ImportError:
        raise InputError("cluster-gcn needs pymetis: pip install 'mggcn[cluster]'") from None
    if linked.size == 0:
        return np.empty(0, np.int64)
    dtype = pymetis.zero_copy_dtype()
    weights = unequal_weights(graph)
    needed = (16 if weights is None else 40) * graph.num_stored
    memory.require(needed, f"METIS's adjacency lists of {graph.num_stored:,} entries")
    undirected = graph if graph.is_symmetric else Graph.from_edges(*graph.edges(), graph.num_nodes, weight=weights)
    whole = None if weights is None else _whole_numbers(undirected.neighbour_weights(), dtype)
    indptr = np.concatenate([[0], np.cumsum(np.diff(undirected.indptr)[linked])]).astype(dtype)
    row_of = np.zeros(graph.num_nodes, dtype)
    row_of[linked] = np.arange(linked.size)
    adjacency = pymetis.CSRAdjacency(indptr, row_of[undirected.indices])
    options = pymetis.Options(seed=_METIS_SEED)
    labels = pymetis.part_graph(parts, adjacency, eweights=whole, options=options).vertex_part
    return np.asarray(labels, np.int64)


def _whole_numbers(weights: Factors, dtype: "np.dtype[Any] | type") -> NDArray[Any]:
    """Weights as METIS takes them: whole numbers of at least 1, in units that make their sum about 2^50, or 2^30."""
    unit = weights.sum(dtype=np.float64) / 2.0 ** (50 if np.dtype(dtype).itemsize > 4 else 30)
    numbers: NDArray[Any] = np.maximum(np.rint(weights / unit), 1).astype(dtype)
    return numbers


class Counts(NamedTuple):
    """How many sub-graphs were drawn beforehand, and how many of them contain each node and each stored edge."""

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

    def batches(self, targets: Nodes | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:  # noqa: ARG002
        """Random sub-graphs that contain each target once on average; the batch size is ignored."""
        pool = np.sort(node_ids(targets))
        if self._counted is None or not np.array_equal(self._counted[0], pool):
            self._counted = pool, self.count(pool)
        return self._assemble(pool, self._counted[1], key)

    @cached_property
    def _weights(self) -> Factors | None:
        return unequal_weights(self.graph)

    @cached_property
    def _totals(self) -> NDArray[Any]:
        """[num_nodes] the sum of the weights of each row."""
        graph, sizes = self.graph, np.diff(self.graph.indptr)
        if self._weights is None:
            return sizes
        return np.bincount(np.repeat(np.arange(graph.num_nodes), sizes), self._weights, graph.num_nodes)

    def draw(self, pool: Nodes, key: Key) -> Nodes:
        """The nodes of one sub-graph, whose roots are drawn from ``pool``."""
        return visited(self.graph, pool, self.roots, self.length, key)

    def count(self, pool: Nodes) -> Counts:
        """Draw sub-graphs until each node of the pool is in ``coverage`` of them on average, and count."""
        in_pool = mask_of(pool, self.graph)
        nodes, edges = np.zeros(self.graph.num_nodes, np.int32), np.zeros(self.graph.num_stored, np.int32)
        draws, covered = 0, 0
        while covered < self.coverage * pool.size:
            part = subgraph(self.graph, self.draw(pool, self.key.fold(draws)))
            nodes[part.nodes] += 1
            edges[part.entries[part.entries >= 0]] += 1
            covered += int(np.count_nonzero(in_pool[part.nodes]))
            draws += 1
        return Counts(draws, nodes, edges)

    def _assemble(self, pool: Nodes, counts: Counts, key: Key) -> Iterator[Batch]:
        is_target = mask_of(pool, self.graph)
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
        size, others = np.diff(part.indptr), part.entries >= 0
        factor = np.repeat(1 / (1 + self._totals[part.nodes]), size)
        if self._weights is not None:
            factor[others] *= self._weights[part.entries[others]]
        seen = np.repeat(np.maximum(counts.nodes[part.nodes], 1), size)[others]
        factor[others] *= seen / np.maximum(counts.edges[part.entries[others]], 1)
        return factor.astype(np.float32)
