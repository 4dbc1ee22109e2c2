"""Label propagation: learning with local and global consistency (Zhou and others), after Zhu and Ghahramani.

Inputs are log-probabilities of the classes: each training label spreads over the edges by
F ← alpha S F + (1 - alpha) Y with S = D^-½ A D^-½, and F is scaled to sum to one at each node. The model has no
parameters and returns its rows; no blocks. Features are not used.

Differs from the paper: a fixed number of iterations instead of the limit; and a node that no label reaches takes the
share of each class among the training nodes, which elsewhere counts for next to nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn

from mggcn.block import Block
from mggcn.dataset import UNLABELLED
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.methods.network import at_least_one
from mggcn.methods.recipe import GraphView, Recipe
from mggcn.nn.rows import Rows, to_dense
from mggcn.sampling import RowSampler
from mggcn.train import View, Views
from mggcn.train.inputs import inputs_of

_PRIOR = 1e-9


@dataclass(frozen=True)
class Config:
    """Label propagation's settings.

    Attributes:
        alpha: the share of a node's scores that comes from its neighbours, in (0, 1).
        iterations: how often labels spread.
    """

    alpha: float = 0.9
    iterations: int = 50

    def __post_init__(self) -> None:
        at_least_one(self, "iterations")
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha: {self.alpha} is not between 0 and 1")


class Given(nn.Module):
    """Rows that are scores already.

    Args:
        out_channels: number of classes.
    """

    def __init__(self, out_channels: int) -> None:
        super().__init__()
        self.out_channels = out_channels

    def forward(self, x: Rows, blocks: Sequence[Block]) -> Tensor:  # noqa: ARG002
        """[n, out_channels] as they are."""
        return to_dense(x)


def defaults(dataset: str) -> dict[str, object]:  # noqa: ARG001
    """Labels spread over the whole graph, and no feature is read."""
    return {"training_graph": "whole", "scaling": "none"}


def model(config: Config, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:  # noqa: ARG001
    """A module without parameters."""
    return Given(out_channels)


def views(config: Config, scene: GraphView) -> Views:
    """Prepare a graph: the spread labels."""
    num_classes = scene.model.out_channels if isinstance(scene.model, Given) else int(scene.known.max()) + 1
    scores = spread(scene.graph, scene.known, num_classes, config.alpha, config.iterations)
    view = View(inputs_of([np.log(scores)], scene.place), RowSampler())
    return Views(view, view)


def spread(
    graph: Graph, known: NDArray[np.int64], num_classes: int, alpha: float, iterations: int
) -> NDArray[np.float32]:
    """Spread labels over a graph.

    Args:
        graph: whose rows say which neighbours a node hears.
        known: [num_nodes] labels, -1 where there is none.
        num_classes: how many.
        alpha: the share that comes from neighbours.
        iterations: how often.

    Returns:
        [num_nodes, num_classes] probabilities, none of them zero.
    """
    n, labelled = graph.num_nodes, np.flatnonzero(known != UNLABELLED)
    if labelled.size == 0:
        raise InputError("label propagation: the graph has no labels to spread")
    own = np.zeros((n, num_classes), np.float32)
    own[labelled, known[labelled]] = 1
    adjacency, scores = _normalised(graph), own
    for _ in range(iterations):
        scores = alpha * (adjacency @ scores) + (1 - alpha) * own
    prior = (own.sum(axis=0, dtype=np.float64) + 1) / (labelled.size + num_classes)
    shares = scores + _PRIOR * prior
    found: NDArray[np.float32] = (shares / shares.sum(axis=1, keepdims=True)).astype(np.float32)
    return found


def _normalised(graph: Graph) -> csr_array:
    """D^-½ A D^-½ without self-loops, as the paper has it."""
    rows, columns = graph.edges()
    scale = np.maximum(graph.degrees, 1) ** -0.5
    data = (scale[rows] * scale[columns]).astype(np.float32)
    return csr_array((data, graph.indices, graph.indptr), shape=(graph.num_nodes, graph.num_nodes))


RECIPE = Recipe(Config, model, views, defaults)
