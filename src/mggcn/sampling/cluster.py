"""Batches of whole clusters: a few random parts of a partition and every edge between their nodes."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn.block import Batch, node_numbers
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels.subgraph import Subgraph, subgraph
from mggcn.keys import Key, folds
from mggcn.sampling.induced import induced_batch, targets_first

Nodes = NDArray[np.int64]

_METIS_SEED = 1


@dataclass(frozen=True, eq=False)
class ClusterSampler:
    """Cuts the graph into parts once, and in every pass takes the parts a few at a time in random order.

    Args:
        graph: to be cut, which METIS does when the first batches are asked for.
        layers: the number of blocks.
        parts: how many; never more than the nodes that have an edge.
        parts_per_batch: how many make up one batch.
        diagonal: the factor λ of Ã + λ diag(Ã).
    """

    graph: Graph
    layers: int
    parts: int
    parts_per_batch: int
    diagonal: float = 0.0

    @property
    def device(self) -> torch.device:
        """The CPU."""
        return torch.device("cpu")

    @cached_property
    def clusters(self) -> list[Nodes]:
        """The nodes of every part."""
        return partition(self.graph, self.parts)

    def batches(self, targets: Nodes | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:  # noqa: ARG002
        """One pass over ``targets``, each exactly once, in batches of so many parts whatever the batch size."""
        is_target = np.zeros(self.graph.num_nodes, bool)
        is_target[node_numbers(targets)] = True
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
        size = np.diff(part.indptr)
        weight = np.repeat(1 / size, size)
        weight[part.indptr[:-1]] *= 1 + self.diagonal
        return weight.astype(np.float32)


def partition(graph: Graph, parts: int) -> list[Nodes]:
    """Cut the nodes into parts of about the same size with few edges between them; the same at every call.

    METIS sees the nodes that have an edge, both ways where the graph is directed; the others are dealt out in turn.
    """
    linked, alone = np.flatnonzero(graph.degrees > 0), np.flatnonzero(graph.degrees == 0)
    parts = max(1, min(parts, linked.size))
    labels = np.empty(graph.num_nodes, np.int64)
    labels[linked] = _metis(graph, linked, parts)
    labels[alone] = np.arange(alone.size) % parts
    order = np.argsort(labels, kind="stable")
    found = np.split(order, np.cumsum(np.bincount(labels, minlength=parts))[:-1])
    return [nodes for nodes in found if nodes.size]


def _metis(graph: Graph, linked: Nodes, parts: int) -> Nodes:
    try:
        import pymetis
    except ImportError:
        raise InputError("cluster-gcn needs pymetis: pip install 'mggcn[cluster]'") from None
    if linked.size == 0:
        return np.empty(0, np.int64)
    width = pymetis.zero_copy_dtype()
    edges = _both_ways(graph)
    indptr = np.concatenate([[0], np.cumsum(np.diff(edges.indptr)[linked])]).astype(width)
    row_of = np.zeros(graph.num_nodes, width)
    row_of[linked] = np.arange(linked.size)
    adjacency = pymetis.CSRAdjacency(indptr, row_of[edges.indices])
    cut = pymetis.part_graph(parts, adjacency, options=pymetis.Options(seed=_METIS_SEED))
    return np.asarray(cut.vertex_part, np.int64)


def _both_ways(graph: Graph) -> Graph:
    return graph if graph.direction == "both" else Graph.from_edges(*graph.edges(), graph.num_nodes)
