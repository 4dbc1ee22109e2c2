"""Methods on the rows ``[x | Ax | … | A^K x]``, which are computed once, and networks with one part for each hop."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

from mggcn.block import Block
from mggcn.graph import EdgePart, EdgeSchema
from mggcn.methods.method import WEIGHTS, GraphView, Method
from mggcn.nn.rows import DistinctRows, RepeatedRows, Rows, SparseRows, to_dense
from mggcn.nn.stack import MLP
from mggcn.sampling.adjacency import Normalisation, powers
from mggcn.training import Count, NaturalNumber, Share, Views


@dataclass(frozen=True)
class OverHops(Method):
    """A network on the features and their averages over the neighbours of 1 to K hops.

    Attributes:
        hops: how often features are averaged at most; 0 uses only the node's own features.
    """

    reads_edges: ClassVar[frozenset[EdgePart]] = WEIGHTS
    linear_in_features: ClassVar[bool] = True

    hops: NaturalNumber

    @property
    def norm(self) -> Normalisation:
        """What A is."""
        return "symmetric"

    def input_width(self, num_features: int, edges: EdgeSchema) -> int:  # noqa: ARG002
        """The features and their averages of each hop."""
        return (1 + self.hops) * num_features

    def prepare(self, view: GraphView) -> Views:
        """The features of every hop."""
        return Views.same(view.rows(*powers(view.graph, view.x, self.hops, view.threads, self.norm)))


@dataclass(frozen=True)
class AttentionOverHops(OverHops):
    """A network on the features of each hop, and one on their weighted sum.

    Attributes:
        hidden: width of every hidden layer.
        layers: of every network, such as those of the hops and the one that scores the classes.
        dropout: share of hidden units dropped in training.
        attention_dropout: share of the hops' weights dropped in training.
        bias: add a bias to each layer.
        norm: what A is, with self-loops: ``row``, the mean over a node and its neighbours, or ``symmetric``.
    """

    hidden: Count = 64
    layers: Count = 2
    dropout: Share = 0.5
    attention_dropout: Share = 0.0
    bias: bool = True
    norm: Normalisation = "symmetric"

    def network(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> MLP:
        """The network of a hop or, where a method has more, another."""
        return MLP(self.widths(in_channels, out_channels), dropout=self.dropout, bias=self.bias, generator=generator)

    def widths(self, in_channels: int, out_channels: int) -> list[int]:
        """The widths of the input, every hidden layer and the output of a network."""
        return [in_channels, *[self.hidden] * (self.layers - 1), out_channels]


class HopAttention(MLP):
    """Encodes each hop with a network of its own; ``in_channels`` is the width of the rows of all hops."""

    def __init__(
        self,
        settings: AttentionOverHops,
        in_channels: int,
        encoded_channels: int,
        out_channels: int,
        generator: torch.Generator | None,
    ) -> None:
        widths, hops = settings.widths(settings.hidden, out_channels), settings.hops + 1
        super().__init__(widths, dropout=settings.dropout, bias=settings.bias, generator=generator)
        self.in_channels, self.attention_dropout = in_channels // hops, settings.attention_dropout
        encoders = (settings.network(self.in_channels, encoded_channels, generator) for _ in range(hops))
        self.encoders = nn.ModuleList(encoders)

    def forward(self, x: Rows, blocks: Sequence[Block]) -> Tensor:
        """[n, in_channels] to [n, out_channels]."""
        return super().forward(self._attended(x), blocks)

    def hidden(self, x: Rows, blocks: Sequence[Block]) -> Tensor:
        """[n, hidden_channels] what the last layer multiplies by its weights."""
        return super().hidden(self._attended(x), blocks)

    def attend(self, h: Tensor, x: Rows) -> Tensor:
        """[n, hidden_channels] of the encoded hops h [n, hops + 1, encoded_channels] and the features x."""
        raise NotImplementedError

    def _attended(self, x: Rows) -> Tensor:
        parts = columns(x, self.in_channels, len(self.encoders))
        h = torch.stack([encode(part, ()) for encode, part in zip(self.encoders, parts, strict=True)], dim=1)
        return self.attend(h, parts[0])


def columns(x: Rows, width: int, count: int) -> list[Rows]:
    """Divide rows into ``count`` parts side by side, ``width`` columns each."""
    if isinstance(x, RepeatedRows):
        return [RepeatedRows(part, x.index) for part in _cut(x.rows, width, count)]
    return [*_cut(x, width, count)]


def _cut(x: DistinctRows, width: int, count: int) -> list[Tensor | SparseRows]:
    if not isinstance(x, SparseRows):
        return [*torch.split(to_dense(x), width, dim=1)]
    selected, rows = x.x[x.nodes.numpy()], torch.arange(x.nodes.numel())
    return [SparseRows(csr_array(selected[:, i * width : (i + 1) * width]), rows) for i in range(count)]
