"""LADIES: layer-dependent importance sampling for training deep and large graph convolutional networks.

From Zou, Hu, Wang, Jiang, Sun and Gu.

Inputs are x; blocks are one layer sample shared by the batch, drawn among the neighbours of the layer above in
proportion to |P(:, u)|² over its rows, where P is D^-1 (A + I) and A holds the weights of edges, together with the
batch's own nodes, both as in the authors' code. Scores are computed on the whole graph.

Differs from the paper: draws are with replacement, the model has 2 layers by default, the paper's has 5,
and the last layer is a graph convolution (the authors' code puts a linear layer on top). Differs from the authors'
code: no dropout by default (0.2 and 0.5 there), gradients are not clipped, a ReLU instead of an ELU, and the width of
the data set's settings instead of 256.

Reference: Zou, Hu, Wang, Jiang, Sun and Gu: Layer-Dependent Importance Sampling for Training Deep and Large Graph
Convolutional Networks, NeurIPS 2019.
"""

from dataclasses import dataclass
from typing import ClassVar

from mggcn.graph import EdgePart
from mggcn.methods.method import WEIGHTS, GraphView, Network
from mggcn.sampling.adjacency import Normalisation, propagation
from mggcn.sampling.layerwise import LadiesSampler
from mggcn.training import Count, Views


@dataclass(frozen=True)
class LADIES(Network):
    """LADIES: graph convolutions over layers sampled among the neighbours of the layer above.

    Attributes:
        samples: nodes drawn per layer; the paper tries 64 and 512.
        normalise: scale the factors of a receiver's senders to sum to 1, as the authors do.
        keep_targets: add the batch's own nodes to every layer's sample, as the authors' code does.
        propagation: the matrix P: ``row`` for D^-1 (A + I), which the scaled factors estimate, or ``symmetric``.
    """

    reads_edges: ClassVar[frozenset[EdgePart]] = WEIGHTS
    version: ClassVar[int] = 2

    samples: Count = 512
    normalise: bool = True
    keep_targets: bool = True
    propagation: Normalisation = "row"

    def prepare(self, view: GraphView) -> Views:
        """The normalised adjacency."""
        adjacency, inputs = propagation(view.graph, self.propagation), view.inputs(view.x)
        sampler = LadiesSampler(adjacency, self.layers, self.samples, self.normalise, self.keep_targets)
        return view.sampled(inputs, sampler, adjacency, self.layers)
