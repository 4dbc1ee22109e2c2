"""DeepWalk: online learning of social representations (Perozzi, Al-Rfou and Skiena).

Inputs are an embedding of the nodes, learnt without labels or features by skip-gram over uniform random walks; the
model is a logistic regression; no blocks.

The embedding is of the whole graph, test nodes included, on inductive data sets too: embeddings of two graphs cannot be
compared. So a run scores the graph it was trained on and no other; it embeds it again from its seed.

Differs from the paper: negative sampling as in node2vec instead of the hierarchical softmax, and 10 walks from each
node by default instead of 80; see :mod:`mggcn.methods._skip_gram`.
"""

import zlib
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.methods._skip_gram import SkipGram, embed
from mggcn.methods.recipe import GraphView, Recipe
from mggcn.nn import MLP
from mggcn.sampling import RowSampler
from mggcn.train import View, Views
from mggcn.train.inputs import inputs_of


@dataclass(frozen=True)
class Config(SkipGram):
    """DeepWalk's settings.

    Attributes:
        bias: of the regression.
    """

    bias: bool = True


class Readout(MLP):
    """A logistic regression on an embedding, which knows the graph that was embedded.

    Args:
        dim: width of the embedding.
        out_channels: number of classes.
        bias: whether it has one.
        generator: of the initial weights; torch's global one when None.
    """

    checksum: Tensor

    def __init__(
        self, dim: int, out_channels: int, *, bias: bool = True, generator: torch.Generator | None = None
    ) -> None:
        super().__init__([dim, out_channels], bias=bias, generator=generator)
        self.register_buffer("checksum", torch.tensor(-1))

    def bind(self, graph: Graph) -> None:
        """Remember a graph; refuse another one later."""
        found = zlib.crc32(graph.indices.data, zlib.crc32(graph.indptr.data))
        if int(self.checksum) not in (-1, found):
            raise InputError("graph: an embedding fits only the whole graph it was trained on, and this is another one")
        self.checksum.fill_(found)


def defaults(dataset: str) -> dict[str, object]:  # noqa: ARG001
    """Settings that suit an embedding on any data set."""
    return {"training_graph": "whole", "scaling": "none", "lr": 0.03, "weight_decay": 0.001}


def model(config: Config, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:  # noqa: ARG001
    """The module, its weights drawn from ``generator``."""
    return Readout(config.dim, out_channels, bias=config.bias, generator=generator)


def views(config: Config, scene: GraphView) -> Views:
    """Prepare a graph: its embedding."""
    return embedded(config, scene)


def embedded(config: Config, scene: GraphView, *, p: float = 1.0, q: float = 1.0) -> Views:
    """The rows of an embedding by walks with node2vec's p and q."""
    if isinstance(scene.model, Readout):
        scene.model.bind(scene.graph)
    found = embed(scene.graph, config, scene.key.fold("embedding"), scene.place, p=p, q=q)
    view = View(inputs_of([found], scene.place), RowSampler())
    return Views(view, view)


RECIPE = Recipe(Config, model, views, defaults)
