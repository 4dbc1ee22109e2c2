"""Method: one class per paper, whose fields are its settings; GraphView: the graph that a method prepares."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import nn

from mggcn.block import CPUSampler
from mggcn.data import Cache, Features
from mggcn.graph import Graph
from mggcn.keys import Key
from mggcn.sampling.full import RowSampler, WholeGraphSampler
from mggcn.training import Compute, DenseInputs, Inputs, Scaled, Training, View, Views, check_bounds, inputs_of


@dataclass(frozen=True, eq=False)
class GraphView:
    """A graph to train on or to score, with what a method may read of it.

    Attributes:
        graph: the edges; in inductive training only those between training nodes.
        scaled: the features with their scaling.
        read_labels: returns ``known_labels``.
        num_classes: the number of classes.
        model: the method's module, for samplers that depend on it.
        key: the run's random key.
        compute: the device, precision and threads of the run.
        source: what the graph and its features are, if what is computed from them may be kept on disk.
        training: the settings of training; None if the graph is only scored.
        read_names: returns ``names``.
    """

    graph: Graph
    scaled: Scaled
    read_labels: Callable[[], NDArray[np.int64]]
    num_classes: int
    model: nn.Module
    key: Key
    compute: Compute
    source: Mapping[str, str] | None = None
    training: Training | None = None
    read_names: Callable[[], NDArray[np.int64] | None] = lambda: None

    @cached_property
    def known_labels(self) -> NDArray[np.int64]:
        """[num_nodes] the labels of the training nodes, -1 for all others."""
        return self.read_labels()

    @cached_property
    def names(self) -> NDArray[np.int64] | None:
        """[num_nodes] what identifies a node in the hashes of its draws; None if it is the node number."""
        return self.read_names()

    @property
    def x(self) -> Features:
        """[num_nodes, num_features] scaled features."""
        return self.scaled.whole

    @property
    def cache(self) -> Cache | None:
        """Keeps what is computed from this graph; None if it has to be in memory."""
        return self.compute.cache if self.source is not None else None

    @property
    def threads(self) -> int | None:
        """The threads of CPU kernels; all cores when None."""
        return self.compute.threads

    def whole_graph(self, adjacency: csr_array, layers: int) -> WholeGraphSampler:
        """Batches over the whole graph, on the run's device if it has room for them."""
        fits = self.compute.holds(WholeGraphSampler.bytes_per_edge * adjacency.nnz)
        return WholeGraphSampler(adjacency, layers, self.compute.device if fits else CPUSampler.device)

    def inputs(self, *parts: Features) -> Inputs:
        """Matrices with one row per node, side by side, as input rows on the run's device."""
        return inputs_of(list(parts), self.compute)

    def rows(self, *parts: Features) -> View:
        """The same for models that read the target's own row only; batches are where the rows are."""
        inputs = self.inputs(*parts)
        return View(inputs, RowSampler(inputs.parts[0].device) if isinstance(inputs, DenseInputs) else RowSampler())


@dataclass(frozen=True)
class Method(ABC):
    """A way to train a node classifier. Subclasses are frozen dataclasses; their fields are the settings.

    Settings are numbers, words (``Literal``) or switches, so that the command line, TOML files and records can hold
    them; ``__post_init__`` checks them and raises InputError.
    """

    reads_labels: ClassVar[bool] = False
    """Whether scores of a graph depend on its ``known_labels``; these nodes are then not used to measure accuracy."""

    version: ClassVar[int] = 1
    """Increased by hand when a change of the code changes results; older records are then ignored."""

    linear_in_features: ClassVar[bool] = False
    """Whether all that :meth:`prepare` takes from the features are input rows, each part of which is a matrix times x.

    Then integrated gradients lead back to the features, and :meth:`mggcn.runs.Run.explain` works.
    """

    redraws_targets: ClassVar[bool] = False
    """Whether another draw of a batch can have other targets; such a method cannot be trained for ``consistency``."""

    uses_features: ClassVar[bool] = True
    """Whether the method reads the features of nodes; others also train on graphs without features."""

    def __post_init__(self) -> None:
        check_bounds(self)

    @abstractmethod
    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
        """Create the module; it is called as ``module(rows, blocks)`` and returns [targets, out_channels] scores.

        Args:
            in_channels: the number of features.
            out_channels: the number of classes.
            generator: draws the initial weights; torch's global generator, seeded by the run, when None or not used.
        """

    def on_disk(self, num_nodes: int, num_features: int, num_stored: int) -> int:  # noqa: ARG002
        """The bytes of disk that :meth:`prepare` needs for a mapped graph of this size; 0 if it computes in memory."""
        return 0

    @abstractmethod
    def prepare(self, view: GraphView) -> Views:
        """Create the input rows and the sampler, for training and for scoring."""
