"""GraphSAGE: inductive representation learning on large graphs (Hamilton, Ying and Leskovec).

Inputs are x; blocks are neighbours drawn uniformly with a fixed fan-out per layer, in training and when scored. Of its
aggregators ``mean``, ``pool`` and ``lstm`` join a node's own row with its neighbours', ``gcn`` averages both together.

Differs from the paper: neighbours are drawn without replacement, and a node with fewer than the fan-out has each once
(the authors' code fills up with repeats and keeps at most 128 neighbours of a node); the last convolution gives the
class scores, where the authors' code puts one more layer on top; and 25 is the fan-out of the targets, 10 that of the
nodes they hear, as in most later work, where the authors' code has it the other way round.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import nn

from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.methods.network import Network, at_least_one, stacked
from mggcn.methods.recipe import GraphView, Recipe
from mggcn.nn import GCNConv, MeanConv
from mggcn.nn.lstm import LSTMConv
from mggcn.nn.pool import PoolConv
from mggcn.sampling import WholeGraphSampler
from mggcn.sampling.adjacency import propagation
from mggcn.sampling.neighbor import NeighborSampler
from mggcn.train import View, Views
from mggcn.train.inputs import inputs_of


@dataclass(frozen=True)
class Config(Network):
    """GraphSAGE's settings.

    Attributes:
        fanouts: neighbours drawn per receiver, whole numbers between commas: the first for the targets, the next for
            the nodes that they hear, and so on. Layers beyond the list take its last number; with fewer layers the rest
            of the list is not used.
        normalise: divide hidden rows by their length. The paper's Algorithm 1 does; the authors' code does so with the
            last ones only. By the validation nodes of citation graphs it harms ``mean`` and ``gcn``, and helps ``pool``
            and ``lstm``.
        full_eval: score with whole neighbourhoods instead of drawn ones.
    """

    fanouts: str = "25,10"
    normalise: bool = False
    full_eval: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        per_layer(self.fanouts, self.layers)


@dataclass(frozen=True)
class PoolConfig(Config):
    """GraphSAGE-pool's settings.

    Attributes:
        pool: width of what is pooled, in widths of a hidden layer; the authors' code has 512 beside 128.
    """

    normalise: bool = True
    pool: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "pool")


@dataclass(frozen=True)
class LSTMConfig(Config):
    """GraphSAGE-LSTM's settings.

    Attributes:
        state: width of the LSTM's state, in widths of a hidden layer; the authors' code has 128 beside 128.
    """

    dropout: float = 0.5
    normalise: bool = True
    state: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "state")


def per_layer(fanouts: str, layers: int) -> tuple[int, ...]:
    """The fan-out of every layer, the targets' first, from a list in words."""
    words = [word.strip() for word in fanouts.split(",")]
    if not all(word.isascii() and word.isdigit() and int(word) > 0 for word in words):
        raise InputError(f"fanouts: {fanouts!r} is not a list of whole numbers above 0, such as 25,10")
    numbers = [int(word) for word in words]
    return tuple([*numbers, *[numbers[-1]] * layers][:layers])


def mean_model(config: Config, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
    """GraphSAGE-mean, its weights drawn from ``generator``."""
    return stacked(config, MeanConv, in_channels, out_channels, generator, normalise=config.normalise)


def gcn_model(config: Config, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
    """GraphSAGE-GCN, its weights drawn from ``generator``."""
    return stacked(config, GCNConv, in_channels, out_channels, generator, normalise=config.normalise)


def pool_model(config: PoolConfig, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
    """GraphSAGE-pool, its weights drawn from ``generator``."""
    conv = partial(PoolConv, pool_channels=config.pool * config.hidden)
    return stacked(config, conv, in_channels, out_channels, generator, normalise=config.normalise)


def lstm_model(config: LSTMConfig, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
    """GraphSAGE-LSTM, its weights drawn from ``generator``."""
    conv = partial(LSTMConv, state_channels=config.state * config.hidden)
    return stacked(config, conv, in_channels, out_channels, generator, normalise=config.normalise)


def views(config: Config, scene: GraphView, *, include_self: bool = False) -> Views:
    """Prepare a graph; ``include_self`` puts a node among those it hears."""
    inputs, fanouts = inputs_of([scene.x], scene.place), per_layer(config.fanouts, config.layers)
    drawn = View(inputs, NeighborSampler(scene.graph, fanouts, include_self, scene.place.threads))
    if not config.full_eval:
        return Views(drawn, drawn)
    return Views(drawn, View(inputs, WholeGraphSampler(mean_operator(scene.graph, include_self), config.layers)))


def mean_operator(graph: Graph, include_self: bool) -> csr_array:
    """[num_nodes, num_nodes] the mean over N(v), or over N(v) and v, as a matrix."""
    if include_self:
        return propagation(graph, "row")
    degrees = np.diff(graph.indptr)
    share = np.repeat(1 / np.maximum(degrees, 1), degrees).astype(np.float32)
    return csr_array((share, graph.indices, graph.indptr), shape=(graph.num_nodes, graph.num_nodes))


def defaults(dataset: str) -> dict[str, object]:
    """The authors' batch size on Pubmed, where larger batches share much of their neighbourhoods."""
    return {"batch_size": 512} if dataset.partition(":")[0] == "pubmed" else {}


MEAN = Recipe(Config, mean_model, views, defaults)
GCN = Recipe(Config, gcn_model, partial(views, include_self=True), defaults)
POOL = Recipe(PoolConfig, pool_model, views, defaults)
LSTM = Recipe(LSTMConfig, lstm_model, views, defaults)
