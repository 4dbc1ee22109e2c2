"""Scores of nodes on the evaluation view, with picks that are the same at every call."""

import math
from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from mggcn.block import Batch
from mggcn.errors import InputError
from mggcn.graph import node_numbers
from mggcn.keys import Key
from mggcn.training._compute import Compute
from mggcn.training._metrics import NUM_SUMS, Scores, of_sums, sums_of
from mggcn.training._prepared import Fit, View

EVAL_BATCH = 4096
CHUNK = 32 * EVAL_BATCH
"""The nodes whose scores are in memory at a time."""


def evaluate(fit: Fit, nodes: NDArray[np.int64]) -> Scores:
    """Measure the scores of some labelled nodes."""
    view, compute = fit.prepared.eval, fit.compute
    sums = torch.zeros(NUM_SUMS, fit.dataset.num_classes, dtype=torch.float64, device=compute.device)
    for part in _chunks(view, nodes[compute.ranks.part(nodes.size)]):
        labels = torch.from_numpy(fit.dataset.y[part]).to(compute.device)
        sums += sums_of(_log_probabilities(fit.model, view, part, fit.key, compute, fit.training.draws), labels)
    return of_sums(compute.ranks.add(sums))


def scores_of(fit: Fit, nodes: NDArray[np.int64]) -> Iterator[Tensor]:
    """The rows of :func:`predict_chunks` for nodes of the data set that is trained on."""
    return predict_chunks(fit.model, fit.prepared.eval, nodes, fit.key, fit.compute, fit.training.draws)


def predict(
    model: nn.Module, view: View, nodes: NDArray[np.int64], key: Key, compute: Compute, draws: int = 1
) -> Tensor:
    """[n, classes] log-probabilities of nodes; with several draws, of the mean probabilities over them.

    Ranks score their shares of the nodes, and each has the rows of all.
    """
    return torch.cat([*predict_chunks(model, view, nodes, key, compute, draws)] or [torch.empty(0)])


def predict_chunks(
    model: nn.Module, view: View, nodes: NDArray[np.int64], key: Key, compute: Compute, draws: int = 1
) -> Iterator[Tensor]:
    """The rows of :func:`predict`, at most :data:`CHUNK` at a time if what is drawn for a node depends on no other."""
    for chunk in _chunks(view, node_numbers(nodes)):
        part = chunk[compute.ranks.part(chunk.size)]
        rows = _log_probabilities(model, view, part, key, compute, draws) if part.size else torch.empty(0)
        yield compute.ranks.gather(rows)


def _chunks(view: View, nodes: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    step = CHUNK if view.sampler.draws_per_target else max(nodes.size, 1)
    return (nodes[start : start + step] for start in range(0, nodes.size, step))


def _log_probabilities(
    model: nn.Module, view: View, nodes: NDArray[np.int64], key: Key, compute: Compute, draws: int
) -> Tensor:
    def log_probabilities(batch: Batch) -> Tensor:
        scores: Tensor = model(view.rows(model, batch), batch.to(compute.device).blocks)
        return functional.log_softmax(scores.double(), dim=1)

    scores = _of_batches(log_probabilities, model, view, nodes, key, compute, draws)
    return torch.logsumexp(torch.stack([*scores]), dim=0) - math.log(draws)


def hidden(
    model: nn.Module, view: View, nodes: NDArray[np.int64], key: Key, compute: Compute, draws: int = 1
) -> Tensor:
    """[n, channels] hidden representations of nodes, as the model's method ``hidden`` gives them; means over draws."""

    def representations(batch: Batch) -> Tensor:
        rows: Tensor = model.hidden(view.rows(model, batch), batch.to(compute.device).blocks)  # type: ignore[operator]
        return rows.float()

    total: Tensor | float = 0.0
    for rows in _of_batches(representations, model, view, nodes, key, compute, draws):
        total = total + rows
    return torch.as_tensor(total) / draws


def _of_batches(
    function: Callable[[Batch], Tensor],
    model: nn.Module,
    view: View,
    nodes: NDArray[np.int64],
    key: Key,
    compute: Compute,
    draws: int,
) -> Iterator[Tensor]:
    """For each of the evaluation's draws, the rows that a function of a batch gives for ``nodes``."""
    if draws < 1:
        raise InputError(f"draws: {draws} is less than 1")
    nodes = node_numbers(nodes)
    model.eval()
    with torch.no_grad(), compute.arithmetic():
        for draw in range(draws):
            batches = view.batches(nodes, key.fold("eval", draw), EVAL_BATCH)
            yield torch.cat([function(batch) for batch in batches])
