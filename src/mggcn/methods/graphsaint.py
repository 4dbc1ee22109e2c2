"""GraphSAINT: graph sampling based inductive learning method (Zeng and others), with its random walk sampler.

Inputs are x. Each step draws the sub-graph that random walks induce, and every layer runs on it. A neighbour's factor
is its share of the mean over the whole neighbourhood, divided by the frequency with which it is drawn together with the
receiver; a target's loss is divided by the frequency with which the target is drawn. Scores are computed on the whole
graph.

Weights of edges, which the paper does not have, are those of the mean, in which the node itself weighs 1. Walks do not
depend on them; the frequencies correct for how often an edge is drawn.

Differs from the paper's equation: by default layers concatenate a node's own row with the aggregate, as the authors'
code does; ``conv`` gcn is the equation. Differs from that code: no normalisation of hidden rows, and the mean includes
the node itself. Roots are always training nodes, even if the training graph contains others.

Reference: Zeng, Zhou, Srivastava, Kannan and Prasanna: GraphSAINT: Graph Sampling Based Inductive Learning Method, ICLR
2020.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import nn

from mggcn.graph import EdgePart
from mggcn.methods.method import WEIGHTS, GraphView, Network
from mggcn.nn.stack import CONVS
from mggcn.sampling.adjacency import propagation
from mggcn.sampling.subgraphs import SaintSampler
from mggcn.training import Count, Views


@dataclass(frozen=True)
class GraphSAINT(Network):
    """GraphSAINT: graph convolutions on sub-graphs of random walks; ``batch_size`` has no effect.

    Attributes:
        conv: of each layer: ``gcn`` is the paper's equation, ``mean`` concatenates a node's row with the aggregate.
        roots: walks per sub-graph.
        walk: steps per walk.
        presample: before training, sub-graphs are drawn until they contain each training node this often, on average.
    """

    reads_edges: ClassVar[frozenset[EdgePart]] = WEIGHTS
    redraws_targets: ClassVar[bool] = True

    conv: Literal["gcn", "mean"] = "mean"
    roots: Count = 300
    walk: Count = 2
    presample: Count = 50

    def _conv(self) -> Callable[..., nn.Module]:
        return CONVS[self.conv]

    def prepare(self, view: GraphView) -> Views:
        """The whole graph's adjacency; sub-graphs are counted when training starts."""
        inputs, key = view.inputs(view.x), view.key.fold("presample")
        walks = SaintSampler(view.graph, self.layers, self.roots, self.walk, self.presample, key)
        return view.sampled(inputs, walks, propagation(view.graph, "row"), self.layers)
