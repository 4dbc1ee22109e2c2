"""VR-GCN: stochastic training of graph convolutional networks with variance reduction (Chen, Zhu and Song).

Inputs are Â x with the symmetric normalisation, the first layer's aggregate computed once; blocks hold a few neighbours
of each receiver, drawn uniformly, and each convolution above stores the last hidden row of every node: it sums these
over all neighbours and corrects the sum with the drawn ones. Scores are exact, computed on the whole graph. Â holds the
weights of edges, normalised; draws do not depend on them.

Differs from the authors' code: dropout acts only on hidden rows, not on the inputs; the mean in the estimator
is that of the current layer, which for two layers is the paper's; no layer normalisation.

Reference: Chen, Zhu and Song: Stochastic Training of Graph Convolutional Networks with Variance Reduction, ICML 2018.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn

from mggcn.block import Block, HistoryBlock
from mggcn.errors import InputError
from mggcn.graph import EdgePart
from mggcn.methods.method import WEIGHTS, GraphView, Network
from mggcn.nn.conv import GCNConv, aggregate, dropout
from mggcn.nn.rows import Rows, to_dense
from mggcn.sampling.adjacency import propagated, propagation
from mggcn.sampling.neighbor import HistorySampler
from mggcn.training import Count, Views


@dataclass(frozen=True)
class VRGCN(Network):
    """VR-GCN: graph convolutions over a few sampled neighbours, corrected by the history of all.

    Attributes:
        layers: at least 2; the first needs no neighbours.
        fanout: neighbours drawn per receiver, the paper's D; a node counts as its own neighbour.
    """

    reads_edges: ClassVar[frozenset[EdgePart]] = WEIGHTS

    fanout: Count = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layers < 2:
            raise InputError(f"layers: {self.layers} is less than 2")

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:
        """A linear layer on aggregated inputs, then convolutions with a history, which apply the dropout themselves."""
        return self._stack(in_channels, out_channels, generator, linear_first=True, dropout=0.0)

    def _conv(self) -> Callable[..., nn.Module]:
        return partial(HistoryConv, dropout=self.dropout)

    def prepare(self, view: GraphView) -> Views:
        """The normalised adjacency and the aggregated features."""
        adjacency = propagation(view.graph)
        inputs = view.inputs(propagated(adjacency, view.x, view.threads))
        sampler = HistorySampler(adjacency, self.layers - 1, self.fanout)
        return view.sampled(inputs, sampler, adjacency, self.layers - 1)


class HistoryConv(GCNConv):
    """A graph convolution that in training stores the last row of every node.

    With history h̄, rows h, their dropped-out form d, the normalised adjacency Â and its drawn part Â' (n / D times the
    entries drawn, D of n), it estimates Â d by Â h̄ + Â' (h - h̄) + Â'' (d - h), where Â'' scales by √(n / D) instead.
    That is the paper's CVD estimator, and without dropout its CV estimator. Other blocks are summed exactly. The share
    ``dropout`` of the incoming units is dropped in training.
    """

    history: Tensor

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        dropout: float = 0.0,
        bias: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(in_channels, out_channels, bias=bias, generator=generator)
        self.dropout = dropout
        self.register_buffer("history", torch.zeros(0, in_channels), persistent=False)

    def forward(self, x: Rows, block: Block) -> Tensor:
        """[num_src, in_channels] to [num_dst, out_channels]."""
        h = to_dense(x)
        if self.training and isinstance(block, HistoryBlock):
            out: Tensor = self.linear(self.estimate(h, block))
        else:
            out = aggregate(self.linear(dropout(h, self.dropout, self.training)), block)
        return out if self.bias is None else out + self.bias

    def estimate(self, h: Tensor, block: HistoryBlock) -> Tensor:
        """[num_dst, in_channels] the sum over all senders, estimated; the history then holds ``h``."""
        if self.history.shape[0] != block.num_nodes:
            self.history = torch.zeros(block.num_nodes, h.shape[1], device=h.device)
        all_edges = Block(block.num_nodes, block.all_indptr, block.all_nodes, block.nodes[block.root], block.all_weight)
        old = aggregate(self.history, all_edges)
        out = old + aggregate(h - self.history.index_select(0, block.nodes), block)
        if self.dropout > 0:
            noise = dropout(h, self.dropout, self.training) - h
            out = out + aggregate(noise.float(), replace(block, weight=block.noise))
        self.history.index_copy_(0, block.nodes, h.detach().float())
        return out
