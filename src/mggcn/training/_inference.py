"""Scores of nodes on the evaluation view, with picks that are the same at every call."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, cast, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from mggcn.block import Block
from mggcn.errors import InputError
from mggcn.graph import node_numbers
from mggcn.keys import Key
from mggcn.nn import Layer
from mggcn.nn.rows import Rows
from mggcn.training._compute import Compute
from mggcn.training._metrics import Scores, Tally
from mggcn.training._prepared import Fit, View

Blocks = tuple[Block, ...]

EVAL_BATCH = 4096
CHUNK = 32 * EVAL_BATCH
"""The nodes whose scores are in memory at a time."""


@runtime_checkable
class Embedder(Protocol):
    """A model with hidden representations of nodes."""

    def hidden(self, x: Rows, blocks: Blocks) -> Tensor:
        """[b, channels] of the targets of blocks."""


@dataclass(frozen=True, eq=False)
class Inference:
    """A model that scores nodes of a graph. Ranks score their shares of the nodes, and each has the rows of all.

    Attributes:
        model: the model.
        view: the graph.
        key: of the run; the picks of the evaluation follow from it.
        compute: the device, precision, threads and ranks.
        draws: of the picks, whose mean is taken.
    """

    model: nn.Module
    view: View
    key: Key
    compute: Compute
    draws: int = 1

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise InputError(f"draws: {self.draws} is less than 1")

    @classmethod
    def of(cls, fit: Fit) -> "Inference":
        """With the model that is trained, on its evaluation view."""
        return cls(fit.model, fit.prepared.eval, fit.key, fit.compute, fit.training.draws)

    def predict(self, nodes: NDArray[np.int64]) -> Tensor:
        """[n, classes] log-probabilities of nodes; with several draws, of the mean probabilities over them."""
        return torch.cat([*self.predict_chunks(nodes)] or [torch.empty(0)])

    def predict_chunks(self, nodes: NDArray[np.int64]) -> Iterator[Tensor]:
        """The rows of :meth:`predict`, :data:`CHUNK` at most if what is drawn for a node depends on no other."""
        for chunk in self.chunks(node_numbers(nodes)):
            part = chunk[self.compute.ranks.part(chunk.size)]
            rows = self.log_probabilities(part) if part.size else torch.empty(0)
            yield self.compute.ranks.gather(rows)

    def chunks(self, nodes: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """The nodes that are scored at a time."""
        step = CHUNK if self.view.sampler.draws_per_target else max(nodes.size, 1)
        return (nodes[start : start + step] for start in range(0, nodes.size, step))

    def log_probabilities(self, nodes: NDArray[np.int64]) -> Tensor:
        """The rows of :meth:`predict`, scored at once by this rank alone."""
        scores = self._draws(lambda rows, blocks: functional.log_softmax(self.model(rows, blocks).double(), 1), nodes)
        return torch.logsumexp(torch.stack([*scores]), dim=0) - math.log(self.draws)

    def hidden(self, nodes: NDArray[np.int64]) -> Tensor:
        """[n, channels] hidden representations of nodes, means over draws; the model has to be an :class:`Embedder`."""
        total: Tensor | float = 0.0
        for rows in self._draws(cast("Embedder", self.model).hidden, node_numbers(nodes)):
            total = total + rows.float()
        return torch.as_tensor(total) / self.draws

    def multiplied(self, count: int) -> View:
        """The view in which to score so many nodes; if that is most of the work, weights meet each row only once."""
        accepts_rows = isinstance(self.model, Layer) and self.model.accepts_rows
        return self.view.multiplied(count * self.draws) if accepts_rows else self.view

    def _draws(self, function: "Callable[[Rows, Blocks], Tensor]", nodes: NDArray[np.int64]) -> Iterator[Tensor]:
        """For each of the draws, the rows that a function of input rows and blocks gives for nodes."""
        model, view, device = self.model.eval(), self.multiplied(nodes.size), self.compute.device
        with torch.no_grad(), self.compute.arithmetic():
            for draw in range(self.draws):
                batches = view.batches(nodes, self.key.fold("eval", draw), EVAL_BATCH)
                yield torch.cat([function(view.rows(model, batch), batch.to(device).blocks) for batch in batches])


def evaluate(fit: Fit, nodes: NDArray[np.int64]) -> Scores:
    """Measure the scores of some labelled nodes."""
    inference, ranks = Inference.of(fit), fit.compute.ranks
    tally = Tally(fit.dataset.num_classes, fit.compute.device)
    for part in inference.chunks(nodes[ranks.part(nodes.size)]):
        tally.add(inference.log_probabilities(part), torch.from_numpy(fit.dataset.y[part]).to(fit.compute.device))
    tally.sums = ranks.add(tally.sums)
    return tally.scores
