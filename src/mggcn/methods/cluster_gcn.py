"""Cluster-GCN: an efficient algorithm for training deep and large graph convolutional networks (Chiang and others).

Inputs are x. METIS divides the training graph into parts; each step takes a few at random, and every layer runs on the
sub-graph that their nodes induce, including edges between the parts, normalised again: D^-1 (A + I), with the paper's
diagonal enhancement as an option. Scores are computed on the whole graph with the same normalisation.

Weights of edges, which the paper does not have, are the entries of A; METIS cuts light edges rather than heavy ones.

Differs from the paper's equation: by default layers concatenate a node's own row with the aggregate, as the authors'
code does; ``conv`` gcn is the equation. Differs from that code: no layer normalisation.

Reference: Chiang, Liu, Si, Li, Bengio and Hsieh: Cluster-GCN: An Efficient Algorithm for Training Deep and Large Graph
Convolutional Networks, KDD 2019.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from torch import nn

from mggcn.graph import EdgePart
from mggcn.methods.method import WEIGHTS, GraphView, Network
from mggcn.nn.stack import CONVS
from mggcn.sampling.adjacency import propagation
from mggcn.sampling.subgraphs import ClusterSampler
from mggcn.training import Count, NaturalNumber, NonNegative, Views


@dataclass(frozen=True)
class ClusterGCN(Network):
    """Cluster-GCN: graph convolutions on the sub-graphs of a partition; ``batch_size`` has no effect.

    Attributes:
        conv: of each layer: ``gcn`` is the paper's equation, ``mean`` concatenates a node's row with the aggregate.
        parts: parts of the partition; 0 for a number that gives batches of about ``batch_nodes`` nodes.
        parts_per_batch: parts per batch, the paper's q.
        batch_nodes: the size of a batch if ``parts`` is 0.
        diagonal: the paper's λ in Ã + λ diag(Ã), for deep networks.
    """

    reads_edges: ClassVar[frozenset[EdgePart]] = WEIGHTS
    redraws_targets: ClassVar[bool] = True

    conv: Literal["gcn", "mean"] = "mean"
    parts: NaturalNumber = 0
    parts_per_batch: Count = 10
    batch_nodes: Count = 1000
    diagonal: NonNegative = 0.0

    def _conv(self) -> Callable[..., nn.Module]:
        return CONVS[self.conv]

    def prepare(self, view: GraphView) -> Views:
        """The whole graph's adjacency; the graph is partitioned when training starts."""
        inputs, graph = view.inputs(view.x), view.graph
        adjacency = propagation(graph, "row")
        adjacency.setdiag(adjacency.diagonal() * (1 + self.diagonal))
        linked = np.count_nonzero(graph.degrees)
        parts = self.parts or max(1, round(self.parts_per_batch * linked / self.batch_nodes))
        clusters = ClusterSampler(graph, self.layers, parts, self.parts_per_batch, self.diagonal)
        return view.sampled(inputs, clusters, adjacency, self.layers)
