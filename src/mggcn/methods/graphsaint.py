"""GraphSAINT: graph sampling based inductive learning method (Zeng and others), with its random walk sampler.

Inputs are x. Each step draws the sub-graph that random walks induce, and every layer runs on it. A neighbour's factor
is its share of the mean over the whole neighbourhood, over how often it is drawn where the receiver is; a target's loss
is divided by how often the target is drawn. Scores come from the whole graph.

Differs from the paper's equation: by default layers join a node's own row with the aggregate, as the authors' code
does; ``conv`` gcn is the equation. Differs from that code: no normalisation of hidden rows, and the mean counts the
node itself. Roots are training nodes also where the training graph holds others.

Reference: Zeng, Zhou, Srivastava, Kannan and Prasanna: GraphSAINT: Graph Sampling Based Inductive Learning Method, ICLR
2020.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from mggcn.methods._network import Network
from mggcn.methods.method import GraphView
from mggcn.nn import CONVS
from mggcn.sampling import WholeGraphSampler
from mggcn.sampling.adjacency import propagation
from mggcn.sampling.saint import SaintSampler
from mggcn.train import View, Views


@dataclass(frozen=True)
class GraphSAINT(Network):
    """GraphSAINT: graph convolutions on sub-graphs of random walks; ``batch_size`` has no effect.

    Attributes:
        conv: of each layer: ``gcn`` is the paper's equation, ``mean`` joins a node's own row with the aggregate.
        roots: the walks of one sub-graph.
        walk: the steps of each walk.
        presample: sub-graphs are drawn beforehand until they hold each training node so often, on average.
    """

    conv: Literal["gcn", "mean"] = "mean"
    roots: int = 300
    walk: int = 2
    presample: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_at_least(1, "roots", "walk", "presample")

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
        """One convolution per layer."""
        return self._stack(CONVS[self.conv], in_channels, out_channels, generator)

    def prepare(self, view: GraphView) -> Views:
        """The whole graph's adjacency; sub-graphs are counted when training begins."""
        inputs, key = view.inputs(view.x), view.key.fold("presample")
        walks = SaintSampler(view.graph, self.layers, self.roots, self.walk, self.presample, key)
        whole = WholeGraphSampler(propagation(view.graph, "row"), self.layers)
        return Views(View(inputs, walks), View(inputs, whole))
