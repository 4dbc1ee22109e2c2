"""Node embeddings by skip-gram with negative sampling over random walks, as DeepWalk and node2vec learn them.

Every node of a walk is to tell the nodes near it in the walk from nodes drawn at random: with u of the node, c of
another in its window and c' of ``negatives`` nodes drawn in proportion to their frequency to the power ¾, the loss of a
pair is -log σ(u·c) - Σ log σ(-u·c'). The embedding is u.

Differs from word2vec's code, which steps through the pairs one by one: a step takes many walks. All pairs of a walk are
scored by one product; word2vec draws each window's size uniformly, here each pair counts by the chance to be inside;
and the nodes of a step share one set of random nodes, so that those are one product too. All three leave the
expected loss as it is. Steps are of Adagrad with one sum of squares for each row, and the rate falls linearly to 0.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels.walk import walk
from mggcn.keys import Key
from mggcn.train.compute import Compute

_WALKS_A_STEP = 128
_SHARED = 128
_POWER = 0.75


@dataclass(frozen=True)
class SkipGram:
    """How to embed the nodes of a graph.

    Attributes:
        dim: width of the embedding.
        walks: from every node; each is drawn afresh and seen once, so that more walks are more training.
        length: of a walk, in nodes.
        window: nodes at most so far apart in a walk are a pair.
        negatives: random nodes for each pair.
        rate: Adagrad's first learning rate.
    """

    dim: int = 128
    walks: int = 10
    length: int = 40
    window: int = 10
    negatives: int = 5
    rate: float = 0.1

    def __post_init__(self) -> None:
        for name in ("dim", "walks", "length", "window", "negatives"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}: {getattr(self, name)} is less than 1")
        if not 0 < self.rate < math.inf:
            raise InputError(f"rate: {self.rate} is not a positive number")


def embed(
    graph: Graph, options: SkipGram, key: Key, place: Compute, *, p: float = 1.0, q: float = 1.0
) -> NDArray[np.float32]:
    """Embed every node, the same way for the same key.

    Args:
        graph: to walk on; a directed one is walked both ways.
        options: how to embed.
        key: of the walks, the first vectors and the random nodes.
        place: where to compute.
        p: node2vec's return parameter, see :func:`mggcn.kernels.walk.walk`.
        q: its in-out parameter; p = q = 1 walks uniformly.

    Returns:
        [num_nodes, dim]. A node without neighbours is on no walk with others and stays near zero.
    """
    if graph.direction != "both":
        graph = Graph.from_edges(*graph.edges(), graph.num_nodes)
    n = graph.num_nodes
    generator = torch.Generator().manual_seed(key.fold("start").torch_seed)
    # The last row stands for the places behind a walk's end and never changes.
    start = (torch.rand(n + 1, options.dim, generator=generator) - 0.5) / options.dim
    nodes, contexts = _Rows(start.to(place.device)), _Rows(torch.zeros_like(start, device=place.device))
    chances = _chances(options, place.device)
    steps, done = options.walks * -(-n // _WALKS_A_STEP), 0
    for number in range(options.walks):
        draws = key.fold("order", number).generator()
        order, stream = draws.permutation(n), key.fold("walk", number)
        walks = walk(graph, order, options.length, stream, p=p, q=q, threads=place.threads)
        frequency = np.cumsum(np.bincount(walks[walks >= 0], minlength=n) ** _POWER)
        for part in torch.split(torch.from_numpy(walks.astype(np.int64) % (n + 1)), _WALKS_A_STEP):
            shared = np.searchsorted(frequency, frequency[-1] * draws.random(_SHARED), side="right")
            others = torch.from_numpy(np.minimum(shared, n - 1)).to(place.device)
            rate = options.rate * (1 - done / steps)
            _step(part.to(place.device), others, nodes, contexts, chances, options.negatives, rate)
            done += 1
    return nodes.values[:n].cpu().numpy()


class _Rows:
    """A table of vectors that Adagrad changes row by row."""

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


def _chances(options: SkipGram, device: torch.device) -> Tensor:
    """[length, length]: how often a window, drawn uniformly from 1 … window, holds both places of a walk."""
    place = torch.arange(options.length, device=device)
    apart = (place[:, None] - place).abs()
    chances = (options.window + 1 - apart).clamp(min=0) / options.window
    return chances.fill_diagonal_(0)


def _step(
    walks: Tensor, others: Tensor, nodes: _Rows, contexts: _Rows, chances: Tensor, negatives: int, rate: float
) -> None:
    """One step down the loss of some walks [b, length]; gradients by hand, which saves half the time."""
    flat, shape = walks.reshape(-1), (*walks.shape, nodes.values.shape[1])
    inside = (walks < nodes.values.shape[0] - 1).to(chances.dtype)
    weight = chances * inside[:, :, None] * inside[:, None, :]
    u, c, away = nodes.of(flat), contexts.of(flat), contexts.of(others)
    # The derivative of -log σ(s) is σ(s) - 1, and that of -log σ(-s) is σ(s).
    pull = torch.bmm(u.view(shape), c.view(shape).transpose(1, 2)).sigmoid_().sub_(1).mul_(weight)
    push = (u @ away.T).sigmoid_().mul_(weight.sum(dim=2).view(-1, 1) * (negatives / others.numel()))
    of_u = torch.bmm(pull, c.view(shape)).view_as(u).addmm_(push, away)
    of_c = torch.bmm(pull.transpose(1, 2), u.view(shape)).view_as(u)
    nodes.descend(flat, of_u, rate)
    contexts.descend(torch.cat([flat, others]), torch.cat([of_c, push.T @ u]), rate)
