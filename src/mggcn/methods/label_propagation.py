"""Label propagation: learning with local and global consistency (Zhou and others), after Zhu and Ghahramani.

Inputs are log-probabilities of the classes: each training label spreads over the edges by
F ← alpha S F + (1 - alpha) Y with S = D^-½ A D^-½, where A holds the weights of edges, and F is scaled to sum to one at
each node. The model has no parameters and returns its rows; no blocks. Features are not used.

Differs from the paper: a fixed number of iterations instead of the limit; and a node that no label reaches gets
the share of each class among the training nodes; on other nodes these shares have almost no weight.

Reference: Zhou, Bousquet, Lal, Weston and Schölkopf: Learning with Local and Global Consistency, NIPS 2003.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from mggcn._io import memory
from mggcn.block import Block
from mggcn.data import UNLABELLED
from mggcn.errors import InputError
from mggcn.graph import EdgePart, Graph
from mggcn.methods.method import WEIGHTS, GraphView, Method
from mggcn.training import Count, Views

_PRIOR = 1e-9


@dataclass(frozen=True)
class LabelPropagation(Method):
    """Label propagation: training labels spread over the edges; features are not used.

    Attributes:
        alpha: the share of a node's scores that comes from its neighbours, in (0, 1).
        iterations: the number of iterations.
    """

    reads_edges: ClassVar[frozenset[EdgePart]] = WEIGHTS
    reads_labels: ClassVar[bool] = True
    uses_features: ClassVar[bool] = False

    alpha: float = 0.9
    iterations: Count = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha: {self.alpha} is not between 0 and 1")

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:  # noqa: ARG002
        """A module without parameters."""
        return Identity()

    def prepare(self, view: GraphView) -> Views:
        """The labels after propagation."""
        scores = spread(view.graph, view.known_labels, view.num_classes, self.alpha, self.iterations)
        return Views.same(view.rows(np.log(scores)))


class Identity(nn.Module):
    """Returns its input rows, which are scores already."""

    def forward(self, x: Tensor, blocks: Sequence[Block]) -> Tensor:  # noqa: ARG002
        """[n, out_channels], unchanged."""
        return x


def spread(
    graph: Graph, known: NDArray[np.int64], num_classes: int, alpha: float, iterations: int
) -> NDArray[np.float32]:
    """[num_nodes, num_classes] probabilities, none of them zero, from [num_nodes] labels, -1 for a node without one."""
    n, labelled = graph.num_nodes, np.flatnonzero(known != UNLABELLED)
    if labelled.size == 0:
        raise InputError("label propagation: the graph has no labels to spread")
    labels = np.zeros((n, num_classes), np.float32)
    labels[labelled, known[labelled]] = 1
    memory.require(32 * graph.num_stored, f"an adjacency matrix of {graph.num_stored:,} entries")
    adjacency, scores = _normalised(graph), labels
    for _ in range(iterations):
        scores = alpha * (adjacency @ scores) + (1 - alpha) * labels
    prior = (labels.sum(axis=0, dtype=np.float64) + 1) / (labelled.size + num_classes)
    shares = scores + _PRIOR * prior
    probabilities: NDArray[np.float32] = (shares / shares.sum(axis=1, keepdims=True)).astype(np.float32)
    return probabilities


def _normalised(graph: Graph) -> csr_array:
    """D^-½ A D^-½ without self-loops, as in the paper; D holds sums of weights, over both directions of edges."""
    n, weights = graph.num_nodes, graph.neighbour_weights()
    rows, columns = graph.edges()
    degrees = np.bincount(rows, weights, n)
    if not graph.is_symmetric:
        degrees += np.bincount(columns, weights, n)
    scale = np.where(degrees == 0, 1, degrees) ** -0.5
    entries = (scale[rows] * scale[columns] * weights).astype(np.float32)
    return csr_array((entries, graph.indices, graph.indptr), shape=(n, n))
