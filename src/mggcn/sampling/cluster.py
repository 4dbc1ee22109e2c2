"""Batches of clusters: a few random parts of a partition with all edges between their nodes."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from mggcn._io import memory
from mggcn.block import Batch, CPUSampler, Nodes, node_ids
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels.relabel import Subgraph, subgraph
from mggcn.keys import Key, folds
from mggcn.sampling._induced import induced_batch, targets_first

_METIS_SEED = 1


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

    def batches(self, targets: Nodes | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:  # noqa: ARG002
        """One pass over ``targets``, each exactly once; ``parts_per_batch`` and not the batch size sets the batches."""
        is_target = np.zeros(self.graph.num_nodes, bool)
        is_target[node_ids(targets)] = True
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
    """Cut the nodes into parts of about equal size with few edges between them; every call gives the same parts.

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
    memory.require(16 * graph.num_stored, f"METIS's adjacency lists of {graph.num_stored:,} entries")
    undirected = graph if graph.direction == "both" else Graph.from_edges(*graph.edges(), graph.num_nodes)
    indptr = np.concatenate([[0], np.cumsum(np.diff(undirected.indptr)[linked])]).astype(dtype)
    row_of = np.zeros(graph.num_nodes, dtype)
    row_of[linked] = np.arange(linked.size)
    adjacency = pymetis.CSRAdjacency(indptr, row_of[undirected.indices])
    labels = pymetis.part_graph(parts, adjacency, options=pymetis.Options(seed=_METIS_SEED)).vertex_part
    return np.asarray(labels, np.int64)
