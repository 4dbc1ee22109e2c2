"""GCN: semi-supervised classification with graph convolutional networks (Kipf and Welling).

Inputs are x; blocks are whole neighbourhoods with the symmetric normalisation D^-½ (A + I) D^-½, where A holds the
weights of edges. One step per epoch over the whole graph as in the paper, or mini-batches with whole neighbourhoods,
which others call Batch GCN.

Reference: Kipf and Welling: Semi-Supervised Classification with Graph Convolutional Networks, ICLR 2017.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from scipy.sparse import csr_array

from mggcn._io.mapping import is_too_large
from mggcn.errors import InputError
from mggcn.graph import EdgePart
from mggcn.methods.method import WEIGHTS, GraphView, Network
from mggcn.sampling.adjacency import propagated, propagation
from mggcn.sampling.neighbor import FullSampler, WholeGraphSampler
from mggcn.training import View, Views

_COPIES = 4  # of a hidden layer: before and after its sum, and their gradients


@dataclass(frozen=True)
class GCN(Network):
    """GCN: graph convolutions over whole neighbourhoods, in mini-batches or full batches.

    Attributes:
        batches: ``mini`` takes ``batch_size`` targets per step with their whole neighbourhoods, ``full`` the whole
            graph.
    """

    reads_edges: ClassVar[frozenset[EdgePart]] = WEIGHTS

    batches: Literal["mini", "full"] = "mini"

    def prepare(self, view: GraphView) -> Views:
        """The normalised adjacency; scores are computed on the whole graph."""
        adjacency, inputs = propagation(view.graph), view.inputs(view.x)
        whole = View(inputs, view.whole_graph(adjacency, self.layers))
        if self.batches == "full":
            self._check_memory(view)
            return Views(self._summed(view, adjacency, whole), whole)
        return Views(View(inputs, FullSampler(adjacency, self.layers)), whole)

    def _summed(self, view: GraphView, adjacency: csr_array, whole: View) -> View:
        """The view to train on: the sums of the first layer, which never change, are computed once if memory allows."""
        training, x = view.training, view.x
        if training is None or training.input_dropout or not isinstance(x, np.ndarray) or is_too_large(2 * x.nbytes):
            return whole
        sampler = replace(view.whole_graph(adjacency, self.layers), is_summed=True)
        return View(view.inputs(propagated(adjacency, x, view.threads)), sampler)

    def _check_memory(self, view: GraphView) -> None:
        """Raise InputError if a step over the whole graph needs more memory than is free."""
        edges = view.graph.num_stored + view.graph.num_nodes
        numbers = view.graph.num_nodes * (view.x.shape[1] + _COPIES * self.hidden * self.layers)
        needed, free = edges * WholeGraphSampler.bytes_per_edge + 4 * numbers, view.compute.free_bytes()
        if free is not None and needed > free:
            raise InputError(
                f"gcn: a step over the whole graph needs about {needed / 2**30:,.1f} GiB, "
                f"{free / 2**30:,.1f} GiB are free; batches=mini takes it in parts"
            )
