"""DeepWalk: online learning of social representations (Perozzi, Al-Rfou and Skiena).

Inputs are an embedding of the nodes, learned without labels or features by skip-gram over random walks; the model is a
logistic regression; no blocks. A step of a walk is uniform or, if edges have weights, in proportion to them; edges are
walked both ways.

The whole graph is embedded, test nodes included, on inductive data sets too: embeddings of two graphs cannot be
compared. So a run can score only the graph it was trained on, which it embeds again from its seed.

A node learns to distinguish the nodes near it in a walk from nodes drawn at random: with u the vector of the node, c
that of another node in its window and c' those of ``negatives`` nodes drawn in proportion to their frequency to the
power ¾, the loss of a pair is -log σ(u·c) - Σ log σ(-u·c'). The embedding is u.

Differs from the paper: negative sampling as in node2vec instead of the hierarchical softmax, and 10 walks from each
node by default instead of 80.

Differs from word2vec's code, which makes one step per pair: here a step takes many walks. All pairs of a walk are
scored by one product. word2vec draws the size of each window uniformly; here each pair is weighted by the probability
that a window contains it. The nodes of a step share one set of random nodes, so that those are one product too. None of
the three changes the expected loss. The optimiser is Adagrad with one sum of squares per row; its learning rate falls
linearly to 0.

Reference: Perozzi, Al-Rfou and Skiena: DeepWalk: Online Learning of Social Representations, KDD 2014.
"""

import zlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from mggcn._io import memory
from mggcn.errors import InputError
from mggcn.graph import EdgePart, Graph
from mggcn.kernels.pick import PickTable
from mggcn.kernels.walk import walk
from mggcn.keys import Key
from mggcn.methods.method import WEIGHTS, GraphView, Method
from mggcn.nn import MLP
from mggcn.sampling.adjacency import unequal_weights
from mggcn.training import Compute, Count, Positive, Views

WALKS_PER_STEP = 128
_SHARED = 128
_POWER = 0.75


@dataclass(frozen=True)
class DeepWalk(Method):
    """DeepWalk: a logistic regression on embeddings by random walks.

    Attributes:
        dim: width of the embedding.
        walks: walks from every node; each is used once, so that more walks are more training.
        length: nodes per walk.
        window: the largest distance in a walk between the two nodes of a pair.
        negatives: random nodes per pair.
        rate: Adagrad's initial learning rate.
        bias: add a bias to the regression.
    """

    reads_edges: ClassVar[frozenset[EdgePart]] = WEIGHTS
    uses_features: ClassVar[bool] = False

    dim: Count = 128
    walks: Count = 10
    length: Count = 40
    window: Count = 10
    negatives: Count = 5
    rate: Positive = 0.1
    bias: bool = True

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:  # noqa: ARG002
        """A logistic regression on the embedding."""
        return Readout(self, out_channels, generator)

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
    """A logistic regression on an embedding, bound to the graph that was embedded."""

    checksum: Tensor

    def __init__(self, settings: DeepWalk, out_channels: int, generator: torch.Generator | None) -> None:
        super().__init__([settings.dim, out_channels], bias=settings.bias, generator=generator)
        self.register_buffer("checksum", torch.tensor(-1))

    def bind(self, graph: Graph) -> None:
        """Store the checksum of the neighbours and their weights; raise InputError if others were bound before."""
        checksum, weights = zlib.crc32(graph.indices.data, zlib.crc32(graph.indptr.data)), unequal_weights(graph)
        checksum = checksum if weights is None else zlib.crc32(weights.data, checksum)
        if int(self.checksum) not in (-1, checksum):
            raise InputError(
                "graph: an embedding is valid only for the whole graph it was trained on, and this is another graph"
            )
        self.checksum.fill_(checksum)


def embed(
    graph: Graph, options: DeepWalk, key: Key, compute: Compute, *, p: float = 1.0, q: float = 1.0
) -> NDArray[np.float32]:
    """[num_nodes, dim] an embedding, the same for the same key, by walks with node2vec's p and q.

    Walks are by weight if not all weights are 1. Edges of a directed graph are walked both ways. A node without
    neighbours is on no walk with others and stays near zero.
    """
    n, weights, sums = graph.num_nodes, unequal_weights(graph), None
    memory.require((8 * options.dim + 20 * options.length) * n, f"vectors and walks of {n:,} nodes")
    if not graph.is_symmetric:
        graph = Graph.from_edges(*graph.edges(), graph.num_nodes, weight=weights)
    if weights is not None:
        sums = PickTable.of(graph, by="weight", threads=compute.threads).sums
    generator = torch.Generator().manual_seed(key.fold("start").torch_seed)
    # The last row stands for the positions after a walk's end and never changes.
    start = (torch.rand(n + 1, options.dim, generator=generator) - 0.5) / options.dim
    nodes, contexts = _Rows(start.to(compute.device)), _Rows(torch.zeros_like(start, device=compute.device))
    pair_weights = _pair_weights(options, compute.device)
    steps, done = options.walks * -(-n // WALKS_PER_STEP), 0
    for number in range(options.walks):
        draws = key.fold("order", number).generator()
        order, stream = draws.permutation(n), key.fold("walk", number)
        walks = walk(graph, order, options.length, stream, p=p, q=q, sums=sums, threads=compute.threads)
        frequency = np.cumsum(np.bincount(walks[walks >= 0], minlength=n) ** _POWER)
        for part in torch.split(torch.from_numpy(walks.astype(np.int64) % (n + 1)), WALKS_PER_STEP):
            shared = np.searchsorted(frequency, frequency[-1] * draws.random(_SHARED), side="right")
            others = torch.from_numpy(np.minimum(shared, n - 1)).to(compute.device)
            rate = options.rate * (1 - done / steps)
            _step(part.to(compute.device), others, nodes, contexts, pair_weights, options.negatives, rate)
            done += 1
    return nodes.values[:n].cpu().numpy()


class _Rows:
    """A table of vectors that Adagrad updates row by row."""

    def __init__(self, values: Tensor) -> None:
        self.values = values
        self._squares = values.new_zeros(values.shape[0], 1)

    def of(self, nodes: Tensor) -> Tensor:
        return self.values.index_select(0, nodes)

    def descend(self, nodes: Tensor, gradient: Tensor, rate: float) -> None:
        """Step against the gradients [n, dim] of rows that may repeat; summed in a fixed order on every device."""
        ordered, order = torch.sort(nodes, stable=True)
        rows, counts = torch.unique_consecutive(ordered, return_counts=True)
        starts = functional.pad(counts.cumsum(0), (1, 0))
        total = functional.embedding_bag(order, gradient, starts, mode="sum", include_last_offset=True)
        squares = self._squares.index_select(0, rows) + total.square().mean(dim=1, keepdim=True)
        self._squares.index_copy_(0, rows, squares)
        moved = self.of(rows).sub_(total.mul_(rate * squares.clamp(min=torch.finfo(squares.dtype).tiny).rsqrt()))
        self.values.index_copy_(0, rows, moved)


def _pair_weights(options: DeepWalk, device: torch.device) -> Tensor:
    """[length, length] the probability that a window, drawn uniformly from 1 … window, contains both positions."""
    position = torch.arange(options.length, device=device)
    distance = (position[:, None] - position).abs()
    return ((options.window + 1 - distance).clamp(min=0) / options.window).fill_diagonal_(0)


def _step(
    walks: Tensor, others: Tensor, nodes: _Rows, contexts: _Rows, pair_weights: Tensor, negatives: int, rate: float
) -> None:
    """One step of gradient descent on walks [b, length]; gradients by hand, which takes half the time of autograd."""
    flat, shape = walks.reshape(-1), (*walks.shape, nodes.values.shape[1])
    inside = (walks < nodes.values.shape[0] - 1).to(pair_weights.dtype)
    weight = pair_weights * inside[:, :, None] * inside[:, None, :]
    u, c, negative = nodes.of(flat), contexts.of(flat), contexts.of(others)
    # The derivative of -log σ(s) is σ(s) - 1, and that of -log σ(-s) is σ(s).
    pull = torch.bmm(u.view(shape), c.view(shape).transpose(1, 2)).sigmoid_().sub_(1).mul_(weight)
    push = (u @ negative.T).sigmoid_().mul_(weight.sum(dim=2).view(-1, 1) * (negatives / others.numel()))
    of_u = torch.bmm(pull, c.view(shape)).view_as(u).addmm_(push, negative)
    of_c = torch.bmm(pull.transpose(1, 2), u.view(shape)).view_as(u)
    nodes.descend(flat, of_u, rate)
    contexts.descend(torch.cat([flat, others]), torch.cat([of_c, push.T @ u]), rate)
