"""Recipe: how a method is made; GraphView: what its views are made from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from mggcn.dataset import Features
from mggcn.graph import Graph
from mggcn.keys import Key
from mggcn.train import Views
from mggcn.train.compute import Compute


@dataclass(frozen=True, eq=False)
class GraphView:
    """A graph to train on or to score, and where to compute.

    Attributes:
        graph: what the model may see.
        x: its scaled features.
        known: [num_nodes] the labels that a method may look at, -1 elsewhere: those of the training nodes.
        model: the method's, for samplers that ask it.
        key: of the run.
        place: where to compute.
    """

    graph: Graph
    x: Features
    known: NDArray[np.int64]
    model: nn.Module
    key: Key
    place: Compute


def _no_defaults(dataset: str) -> dict[str, object]:  # noqa: ARG001
    return {}


@dataclass(frozen=True)
class Recipe:
    """How a method is made.

    Attributes:
        config: the frozen dataclass of its settings.
        model: from (config, in_channels, out_channels, generator of the weights) to a module.
        views: from (config, scene) to what the module sees of a graph, in training and when it is scored.
        defaults: settings by the name of the data set, its own or the training's, where they are not the dataclasses'.
    """

    config: type[Any]
    model: Callable[[Any, int, int, torch.Generator | None], nn.Module]
    views: Callable[[Any, GraphView], Views]
    defaults: Callable[[str], dict[str, object]] = _no_defaults
