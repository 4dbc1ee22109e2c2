"""GraphSAGE: inductive representation learning on large graphs (Hamilton, Ying and Leskovec).

Inputs are x; blocks are neighbours drawn uniformly with a fixed fan-out per layer, in training and in scoring. The
aggregators ``mean``, ``pool`` and ``lstm`` concatenate a node's own row with the aggregate of its neighbours; ``gcn``
averages them together.

Weights of edges, which the paper does not have, are the weights of the means of ``mean`` and ``gcn``, in which the node
itself weighs 1. With ``draw_by`` weight, neighbours are drawn in proportion to weight instead and the means are plain,
since weights would count twice; so where a node has no more neighbours than the fan-out, all of them count alike.

Differs from the paper: neighbours are drawn without replacement, and a node with fewer neighbours than the fan-out uses
each once (the authors' code repeats neighbours to fill up, and keeps at most 128 neighbours of a node); the last
convolution gives the class scores, while the authors' code puts one more layer on top; and 25 is the fan-out of the
targets, 10 that of their neighbours, as in most later work, while the authors' code has the opposite. Hidden rows are
``hidden`` wide (16 on citation graphs, as in MG-GCN's paper); in the authors' code they are 256 wide, 128 from the
node's own row beside 128 from the aggregate, or 256 for ``gcn``. Features are scaled as for every method (by rows on
citation graphs); the authors' code standardises them on the training nodes.

Reference: Hamilton, Ying and Leskovec: Inductive Representation Learning on Large Graphs, NIPS 2017.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import torch
from torch import nn

from mggcn.errors import InputError
from mggcn.graph import EdgePart
from mggcn.methods.method import WEIGHTS, GraphView, Network
from mggcn.nn.conv import GCNConv, LSTMConv, MeanConv, PoolConv
from mggcn.sampling.adjacency import mean_operator
from mggcn.sampling.neighbor import NeighborSampler
from mggcn.training import Count, Inputs, Share, View, Views


@dataclass(frozen=True)
class GraphSAGE(Network):
    """The settings that GraphSAGE's aggregators share.

    Attributes:
        fanouts: neighbours drawn per receiver, whole numbers separated by commas: the first for the targets, the next
            for their neighbours, and so on. Layers beyond the list take its last number; with fewer layers the rest of
            the list is not used.
        normalise: divide hidden rows by their length. The paper's Algorithm 1 does; the authors' code does so only
            in the last layer. ``pool`` and ``lstm`` do it by default, ``mean`` and ``gcn`` do not.
        full_eval: score with whole neighbourhoods instead of drawn ones; their means are weighted by the edges.
        draw_by: draw neighbours without replacement, ``uniform``ly or in proportion to the ``weight`` of the edges to
            them; the same if the graph has no weights.
    """

    reads_edges: ClassVar[frozenset[EdgePart]] = WEIGHTS

    fanouts: str = "25,10"
    normalise: bool = False
    full_eval: bool = False
    draw_by: Literal["uniform", "weight"] = "uniform"

    _include_self: ClassVar[bool] = False
    _averages: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        fanout_per_layer(self.fanouts, self.layers)

    @property
    def edge_parts(self) -> frozenset[EdgePart]:
        """The weights, except for a maximum or an LSTM over neighbours that are drawn uniformly."""
        return WEIGHTS if self._averages or self.draw_by == "weight" else frozenset()

    def _conv(self) -> Callable[..., nn.Module]:
        return MeanConv

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
        """One convolution per layer."""
        return self._stack(in_channels, out_channels, generator, normalise=self.normalise)

    def prepare(self, view: GraphView) -> Views:
        """The features, and drawn neighbours."""
        inputs, fanouts = view.inputs(view.x), fanout_per_layer(self.fanouts, self.layers)
        return self._views(view, inputs, fanouts)

    def _views(self, view: GraphView, inputs: Inputs, fanouts: tuple[int, ...]) -> Views:
        """Drawn neighbours below the targets, for as many layers as there are fan-outs."""
        by_weight = self.draw_by == "weight"
        weigh = self._averages and not by_weight
        sampler = NeighborSampler(
            view.graph, fanouts, self._include_self, view.threads, view.names, by_weight=by_weight, weigh=weigh
        )
        if not self.full_eval:
            return Views.same(View(inputs, sampler))
        return view.sampled(inputs, sampler, mean_operator(view.graph, self._include_self), len(fanouts))


@dataclass(frozen=True)
class GraphSAGEMean(GraphSAGE):
    """GraphSAGE-mean: a node's own row concatenated with the mean of its neighbours."""


@dataclass(frozen=True)
class GraphSAGEGCN(GraphSAGE):
    """GraphSAGE-GCN: the mean over a node and its neighbours."""

    _include_self: ClassVar[bool] = True

    def _conv(self) -> Callable[..., nn.Module]:
        return GCNConv


@dataclass(frozen=True)
class GraphSAGEPool(GraphSAGE):
    """GraphSAGE-pool: a node's own row concatenated with the maximum over its neighbours.

    Attributes:
        pool: width of the pooled rows, as a multiple of ``hidden``; the authors' code has 512 for 128.
    """

    normalise: bool = True
    pool: Count = 4

    _averages: ClassVar[bool] = False

    def _conv(self) -> Callable[..., nn.Module]:
        return partial(PoolConv, pool_channels=self.pool * self.hidden)


@dataclass(frozen=True)
class GraphSAGELSTM(GraphSAGE):
    """GraphSAGE-LSTM: a node's own row concatenated with an LSTM's last state over its neighbours.

    Attributes:
        state: width of the LSTM's state, as a multiple of ``hidden``; the authors' code has 128 for 128.
    """

    dropout: Share = 0.5
    normalise: bool = True
    state: Count = 1

    _averages: ClassVar[bool] = False

    def _conv(self) -> Callable[..., nn.Module]:
        return partial(LSTMConv, state_channels=self.state * self.hidden)


def fanout_per_layer(fanouts: str, layers: int) -> tuple[int, ...]:
    """The fan-out of every layer, that of the targets first, from numbers separated by commas."""
    words = [word.strip() for word in fanouts.split(",")]
    if not all(word.isascii() and word.isdigit() and int(word) > 0 for word in words):
        raise InputError(f"fanouts: {fanouts!r} is not a list of whole numbers above 0, such as 25,10")
    numbers = [int(word) for word in words]
    return tuple([*numbers, *[numbers[-1]] * layers][:layers])
