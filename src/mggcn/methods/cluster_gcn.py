"""Cluster-GCN: an efficient algorithm for training deep and large graph convolutional networks (Chiang and others).

Inputs are x. METIS cuts the training graph into parts; each step takes a few at random, and every layer runs on the
sub-graph that their nodes induce, edges between the parts among them, normalised anew: D^-1 (A + I), with the paper's
diagonal enhancement where asked for. Scores come from the whole graph with the same normalisation.

Differs from the paper's equation: by default layers set a node's own row beside the aggregate, as the authors' code
does; ``conv`` gcn is the equation. Differs from that code: no layer normalisation.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import nn

from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.methods.network import Network, at_least_one, stacked
from mggcn.methods.recipe import GraphView, Recipe
from mggcn.nn import CONVS
from mggcn.sampling import WholeGraphSampler
from mggcn.sampling.adjacency import propagation
from mggcn.sampling.cluster import ClusterSampler
from mggcn.train import View, Views
from mggcn.train.inputs import inputs_of


@dataclass(frozen=True)
class Config(Network):
    """Cluster-GCN's settings; ``batch_size`` has no effect.

    Attributes:
        conv: of each layer: ``gcn`` is the paper's equation, ``mean`` sets a node's own row beside the aggregate.
        parts: of the partition; 0 for as many as make batches of about ``batch_nodes`` nodes.
        parts_per_batch: parts that make up a batch, the paper's q.
        batch_nodes: of a batch, where ``parts`` is 0.
        diagonal: the paper's λ in Ã + λ diag(Ã), for deep networks.
    """

    conv: Literal["gcn", "mean"] = "mean"
    parts: int = 0
    parts_per_batch: int = 10
    batch_nodes: int = 1000
    diagonal: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "parts_per_batch", "batch_nodes")
        for name in ("parts", "diagonal"):
            if not getattr(self, name) >= 0:
                raise InputError(f"{name}: {getattr(self, name)} is less than 0")


def defaults(dataset: str) -> dict[str, object]:
    """The convolution of lower validation loss; for Reddit the authors' batches, 20 of 1500 parts with 2000 nodes."""
    name = dataset.partition(":")[0]
    found: dict[str, object] = {"conv": "gcn"} if name in ("cora", "reddit-like") else {}
    if name in ("reddit", "reddit-like"):
        found |= {"parts_per_batch": 20, "batch_nodes": 2000, "lr": 0.005}
    return found


def model(config: Config, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
    """The module, its weights drawn from ``generator``."""
    return stacked(config, CONVS[config.conv], in_channels, out_channels, generator)


def views(config: Config, scene: GraphView) -> Views:
    """Prepare a graph; it is cut when training begins."""
    inputs = inputs_of([scene.x], scene.place)
    clusters = ClusterSampler(
        scene.graph, config.layers, _parts(config, scene.graph), config.parts_per_batch, config.diagonal
    )
    whole = WholeGraphSampler(_enhanced(propagation(scene.graph, "row"), config.diagonal), config.layers)
    return Views(View(inputs, clusters), View(inputs, whole))


def _parts(config: Config, graph: Graph) -> int:
    if config.parts:
        return config.parts
    linked = np.count_nonzero(graph.degrees)
    return max(1, round(config.parts_per_batch * linked / config.batch_nodes))


def _enhanced(adjacency: csr_array, diagonal: float) -> csr_array:
    adjacency.setdiag(adjacency.diagonal() * (1 + diagonal))
    return adjacency


RECIPE = Recipe(Config, model, views, defaults)
