"""Method: one class per paper, whose fields are its settings; GraphView: the graph that a method prepares."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, cached_property, partial
from itertools import pairwise
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import nn

from mggcn import methods
from mggcn.block import CPUSampler, Sampler
from mggcn.data import UNLABELLED, ArrayWriter, Cache, Dataset, Features, FolderWriter, names_in_draws
from mggcn.graph import EDGE_PARTS, Direction, EdgePart, EdgeSchema, Graph
from mggcn.keys import Key
from mggcn.methods import published, settings
from mggcn.nn import GCNConv, Linear, Stack
from mggcn.sampling.neighbor import RowSampler, WholeGraphSampler
from mggcn.training import (
    Compute,
    Count,
    DenseInputs,
    Inputs,
    Scaled,
    Scaler,
    Share,
    Training,
    View,
    Views,
    check_bounds,
    features_by_density,
    inputs_of,
)

T = TypeVar("T")

WEIGHTS: frozenset[EdgePart] = frozenset({"weight"})


class Shared:
    """What is prepared for one recipe of a portfolio and used by the others, too, by a name that says what it is."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}

    def once(self, name: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` returns, called for the first use of the name only."""
        if name not in self._made:
            self._made[name] = make()
        made: T = self._made[name]
        return made


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
        shared: with the views of the other recipes of a portfolio, which are of the same data.
        part: which edges of the data the graph has.
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
    shared: Shared = field(default_factory=Shared)
    part: str = "whole"

    def once(self, what: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` computes of this graph and its features; ``what`` names it and all settings it depends on."""
        compute = self.compute
        return self.shared.once((self.part, self.scaled.scaler.kind, compute.device, compute.dtype, what), make)

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

    def sampled(self, inputs: Inputs, sampler: Sampler, adjacency: csr_array, layers: int) -> Views:
        """Views of the same inputs: the sampler's blocks for training, ``layers`` over the whole graph for scoring."""
        whole = self.whole_graph(adjacency, layers) if layers else RowSampler()
        return Views(View(inputs, sampler), View(inputs, whole))

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
    them; ``__post_init__`` checks them and raises InputError. An object remembers the fields that it was given; the
    others have the defaults of the class until a plan resolves them, as for a method given by its name. Of
    ``dataclasses.replace`` all fields are given.
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

    reads_edges: ClassVar[frozenset[EdgePart]] = frozenset()
    """What the method can read of an edge beside its ends; a run says what of its data the method does not use."""

    def __new__(cls, *args: object, **values: object) -> Self:
        """Remember the names of the fields that were given."""
        method = super().__new__(cls)
        names = [field.name for field in fields(cls) if field.init] if is_dataclass(cls) else []
        object.__setattr__(method, "_given", frozenset([*names[: len(args)], *values]))
        return method

    def __post_init__(self) -> None:
        check_bounds(self)

    @property
    def given_fields(self) -> dict[str, Any]:
        """The fields that were given, with their values; a default that was written out is given, too."""
        names: frozenset[str] = self.__dict__["_given"]
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name in names}

    @property
    def edge_parts(self) -> frozenset[EdgePart]:
        """What the method reads of an edge with these settings: ``reads_edges``, or less."""
        return self.reads_edges

    def unused(self, schema: EdgeSchema, num_features: int) -> tuple[EdgePart, ...]:  # noqa: ARG002
        """What is known of the edges of a graph and not used with these settings and so many features."""
        known = {"direction": schema.directed, "weight": schema.weighted, "type": len(schema.types) > 1}
        return tuple(part for part in EDGE_PARTS if known[part] and part not in self.edge_parts)

    def unused_reason(self, schema: EdgeSchema, num_features: int) -> str:  # noqa: ARG002
        """Why something is not used that the settings allow to use; empty if there is nothing."""
        return ""

    @classmethod
    def paper(cls, dataset: Dataset | str) -> Self:
        """The method with the settings of its paper and its authors' code on a data set, every field given.

        Settings of training, such as the paper's learning rate, are not part of a method: ``fit`` takes them, too, from
        ``preset="paper"``.
        """
        name = dataset if isinstance(dataset, str) else dataset.name
        values = published.settings(name, methods.method_name(cls), "paper")
        known = {field.name for field in fields(cls)}
        return replace(settings.build(cls, {key: value for key, value in values.items() if key in known}))

    @abstractmethod
    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
        """Create the module; it is called as ``module(rows, blocks)`` and returns [targets, out_channels] scores.

        Args:
            in_channels: the width of the input rows, see :meth:`input_width`.
            out_channels: the number of classes.
            generator: draws the initial weights; torch's global generator, seeded by the run, when None or not used.
        """

    def input_width(self, num_features: int, edges: EdgeSchema) -> int:  # noqa: ARG002
        """The width of the input rows that :meth:`prepare` makes of so many features of a graph with such edges."""
        return num_features

    def on_disk(self, graph: Graph, num_features: int) -> Mapping[Hashable, int]:  # noqa: ARG002
        """The bytes that :meth:`prepare` keeps on disk of a mapped graph, each by what it is; none if all is in memory.

        What has the same name for two recipes is kept once.
        """
        return {}

    @abstractmethod
    def prepare(self, view: GraphView) -> Views:
        """Create the input rows and the sampler, for training and for scoring."""


@dataclass(frozen=True)
class Network(Method):
    """The settings that most networks share.

    Attributes:
        layers: the number of layers.
        hidden: the width of the hidden layers.
        dropout: the share of hidden units dropped in training.
        bias: add a bias to each layer.
    """

    linear_in_features: ClassVar[bool] = True

    layers: Count = 2
    hidden: Count = 16
    dropout: Share = 0.0
    bias: bool = True

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
        """One convolution per layer."""
        return self._stack(in_channels, out_channels, generator)

    def widths(self, in_channels: int, out_channels: int) -> list[int]:
        """The widths of the input, every hidden layer and the output."""
        return [in_channels, *[self.hidden] * (self.layers - 1), out_channels]

    def _conv(self) -> Callable[..., nn.Module]:
        """What creates the convolution of each layer."""
        return GCNConv

    def _stack(
        self,
        in_channels: int,
        out_channels: int,
        generator: torch.Generator | None,
        *,
        linear_first: bool = False,
        normalise: bool = False,
        dropout: float | None = None,
    ) -> Stack:
        """One convolution per layer; with ``linear_first`` the first layer is linear, on rows already aggregated."""
        widths, first = self.widths(in_channels, out_channels), None
        if linear_first:
            first = Linear(*widths[:2], bias=self.bias, generator=generator)
            widths = widths[1:]
        convs = [self._conv()(a, b, bias=self.bias, generator=generator) for a, b in pairwise(widths)]
        share = self.dropout if dropout is None else dropout
        return Stack(convs, first=first, dropout=share, normalise=normalise)


def view_of(
    dataset: Dataset, scaler: Scaler, model: nn.Module, key: Key, compute: Compute, shared: Shared | None = None
) -> GraphView:
    """A data set as methods receive it: scaled features, and training labels (all labels if there is no split)."""
    shared, labels = shared or Shared(), partial(known_labels, dataset)
    scaled = shared.once(("scaled", scaler.kind), lambda: Scaled(features_by_density(dataset), scaler))
    source = None
    if compute.cache is not None:
        source = {"name": dataset.name, "data": dataset.digest, "scaling": scaler.digest, "graph": "whole"}
    names = cache(partial(names_in_draws, dataset))
    return GraphView(
        dataset.graph, scaled, labels, dataset.num_classes, model, key, compute, source, read_names=names, shared=shared
    )


def known_labels(dataset: Dataset) -> NDArray[np.int64]:
    """[num_nodes] the labels that methods may read: of training nodes, or all if there is no split; else -1."""
    labels = np.array(dataset.y)
    if dataset.split is not None:
        hidden = np.ones(dataset.num_nodes, bool)
        hidden[dataset.split.train] = False
        labels[hidden] = UNLABELLED
    return labels


def on_training_nodes(view: GraphView, nodes: NDArray[np.int64], digest: str) -> GraphView:
    """The view of the edges between training nodes, whose ``digest`` names what is kept of it."""
    if view.cache is None or view.source is None:
        graph = view.once("between training nodes", lambda: view.graph.subgraph(nodes))
        return replace(view, graph=graph, part="train")
    source = {**view.source, "graph": "train", "train": digest}
    return _kept(view, source, "between training nodes", view.graph.subgraph_parts(nodes), view.graph.direction)


def one_way(view: GraphView, end: Literal["in", "out"]) -> GraphView:
    """The view of the edges into nodes, or out of them, of a directed graph."""
    if view.cache is None or view.source is None:
        return replace(view, graph=view.once(end, lambda: view.graph.towards(end)), part=f"{view.part} {end}")
    return _kept(view, {**view.source, "edges_towards": end}, end, view.graph.parts_towards(end), end)


def _kept(
    view: GraphView,
    source: Mapping[str, str],
    edges: str,
    parts: Iterable[Mapping[str, NDArray[Any]]],
    direction: Direction,
) -> GraphView:
    """The view of some edges, which are kept on disk, where they are written some rows at a time."""
    if view.cache is None:
        raise ValueError("a view without a cache")

    def build(folder: FolderWriter) -> None:
        _write_parts(folder, view.graph, parts)

    num_bytes = sum(array.nbytes for array in view.graph.arrays().values())
    what = {name: value for name, value in source.items() if name != "scaling"}
    arrays = view.cache.arrays({**what, "edges": edges}, build, num_bytes)
    graph = Graph.from_arrays(arrays, direction, view.graph.types, checked=True)
    graph.check_bounds()
    return replace(view, graph=graph, source=source, part=f"{view.part} {edges}")


def _write_parts(folder: FolderWriter, graph: Graph, parts: Iterable[Mapping[str, NDArray[Any]]]) -> None:
    """Write a graph with fewer edges than ``graph`` as it is made, some rows at a time."""
    kinds = {name: array.dtype for name, array in graph.arrays().items()}
    writers: dict[str, ArrayWriter] = {}
    for part in parts:
        for name, rows in part.items():
            if name not in writers:
                writers[name] = folder.array(name, kinds[name])
                if name.endswith("indptr"):
                    writers[name].append(np.zeros(1, np.int64))
            writers[name].append(rows)
