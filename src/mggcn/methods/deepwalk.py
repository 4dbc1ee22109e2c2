"""DeepWalk: online learning of social representations (Perozzi, Al-Rfou and Skiena).

Inputs are an embedding of the nodes, learned without labels or features by skip-gram over uniform random walks; the
model is a logistic regression; no blocks.

The whole graph is embedded, test nodes included, on inductive data sets too: embeddings of two graphs cannot be
compared. So a run can score only the graph it was trained on, which it embeds again from its seed.

Differs from the paper: negative sampling as in node2vec instead of the hierarchical softmax, and 10 walks from each
node by default instead of 80; see ``mggcn.methods._skip_gram``.

Reference: Perozzi, Al-Rfou and Skiena: DeepWalk: Online Learning of Social Representations, KDD 2014.
"""

import zlib
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.methods._skip_gram import SkipGram, embed
from mggcn.methods.method import GraphView, Method
from mggcn.nn.stack import MLP
from mggcn.training import Views


@dataclass(frozen=True)
class DeepWalk(SkipGram, Method):
    """DeepWalk: a logistic regression on embeddings by uniform random walks.

    Attributes:
        bias: add a bias to the regression.
    """

    uses_features: ClassVar[bool] = False

    bias: bool = True

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:  # noqa: ARG002
        """A logistic regression on the embedding."""
        return Readout(self.dim, out_channels, bias=self.bias, generator=generator)

    def prepare(self, view: GraphView) -> Views:
        """The embedding of the graph."""
        return self._embedded(view)

    def _embedded(self, view: GraphView, *, p: float = 1.0, q: float = 1.0) -> Views:
        """The rows of an embedding by walks with node2vec's p and q."""
        if isinstance(view.model, Readout):
            view.model.bind(view.graph)
        rows = embed(view.graph, self, view.key.fold("embedding"), view.compute, p=p, q=q)
        return Views.same(view.rows(rows))


class Readout(MLP):
    """A logistic regression on an embedding, bound to the graph that was embedded.

    Args:
        dim: width of the embedding.
        out_channels: number of classes.
        bias: add a bias.
        generator: of the initial weights; torch's global one when None.
    """

    checksum: Tensor

    def __init__(
        self, dim: int, out_channels: int, *, bias: bool = True, generator: torch.Generator | None = None
    ) -> None:
        super().__init__([dim, out_channels], bias=bias, generator=generator)
        self.register_buffer("checksum", torch.tensor(-1))

    def bind(self, graph: Graph) -> None:
        """Store the checksum of the graph; raise InputError if another graph was bound before."""
        checksum = zlib.crc32(graph.indices.data, zlib.crc32(graph.indptr.data))
        if int(self.checksum) not in (-1, checksum):
            raise InputError(
                "graph: an embedding is valid only for the whole graph it was trained on, and this is another graph"
            )
        self.checksum.fill_(checksum)
