"""Integrated gradients (Sundararajan, Taly and Yan): how much each feature contributes to the probability of a class.

The features go on a straight line from a baseline to their values, and the gradient of the probability is integrated on
the way; times the distance it is a feature's contribution, and the contributions sum to the probability minus that of
the baseline. The baseline is a graph in which all scaled features are zero: those of an average training node with the
scaling ``standard``, and none at all with the scalings ``row`` and ``none``.

Input rows are linear in the features, each part of them a matrix times x. So contributions of entries of the input rows
are contributions of features, and what the target's own features contribute follows from the input rows of a graph in
which all others are zero.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn import functional

from mggcn.block import Batch, Block
from mggcn.data import UNLABELLED, as_features
from mggcn.errors import InputError, InputWarning
from mggcn.methods.method import GraphView
from mggcn.nn.rows import to_dense
from mggcn.runs._features import match_features
from mggcn.runs._scoring import Probabilities, Scorer
from mggcn.training import Scaled, Scaler, View, calibrated, log_odds

_STEPS = (32, 128, 512)
_FEW_STEPS = 32  # of many nodes, whose contributions are only ranked
_TARGETS, _ROWS = 1024, 1 << 15  # of a batch of these
_TOLERANCE = 1e-3  # of the probability: a tenth of a percentage point


@dataclass(frozen=True, eq=False)
class Attribution:
    """Contributions to the probability of a class, or its log-odds, which sum to ``value - baseline``.

    The sum has an integration error.

    Attributes:
        target: [num_features] those of the target's own features.
        others: [num_features] those of the features of all other nodes, summed over the nodes.
        value: the probability of the class, or its log-odds.
        baseline: the same if all scaled features are zero.
    """

    target: NDArray[np.float64]
    others: NDArray[np.float64]
    value: float
    baseline: float


def check_attributable(scorer: Scorer) -> None:
    """Raise InputError for a method whose scores have no gradient with respect to the features."""
    if not scorer.run.plan.method.linear_in_features:
        raise InputError(
            f"{scorer.run.record.method}: neither reasons nor attributions, which need input rows that are linear "
            "in the features and a model with gradients"
        )


def probabilities(scorer: Scorer, node: int, draw: int) -> Probabilities:
    """[classes] of a target in one of the evaluation's draws, from a batch of its own."""
    batch = scorer.batch(node, draw)
    with torch.no_grad(), scorer.compute.arithmetic():
        return np.asarray(_forward(scorer, batch)(_rows(scorer.view, batch))[0].exp().numpy())


def attribute(scorer: Scorer, node: int, label: int, draw: int, own: View, *, logits: bool = False) -> Attribution:
    """Attribute the probability of a class in one of the evaluation's draws to the features; on the CPU.

    Args:
        scorer: of a method that passes :func:`check_attributable`.
        node: the target.
        label: the class.
        draw: the number of the draw.
        own: the result of :func:`target_only` for this target.
        logits: attribute the log-odds instead of the probability.
    """
    batch = scorer.batch(node, draw)
    rows, of_target = _rows(scorer.view, batch), _rows(own, batch)
    forward = _forward(scorer, batch)

    def value(x: Tensor) -> Tensor:
        scores = forward(x)
        return log_odds(scores, torch.tensor([label]))[0] if logits else scores[0, label].exp()

    with scorer.compute.arithmetic():
        with torch.no_grad():
            end, start = float(value(rows)), float(value(torch.zeros_like(rows)))
        gradient = torch.zeros_like(rows)
        for steps in _STEPS:
            gradient = _mean_gradient(value, rows, steps)
            if abs(float((gradient * rows).sum()) - (end - start)) < _TOLERANCE * max(1.0, abs(end - start)):
                break
    width = int(scorer.run.record.dataset["num_features"])
    total, target = (_by_feature(part * gradient, width) for part in (rows, of_target))
    return Attribution(target, total - target, end, start)


def contributions(scorer: Scorer, nodes: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """[n, num_features] what features, of the nodes and of all others, contribute to the log-odds of a class of each.

    They are means over the draws of the scorer, with one fixed number of steps.
    """
    check_attributable(scorer)
    width = int(scorer.run.record.dataset["num_features"])
    result = np.zeros((nodes.size, width))
    for draw in range(scorer.draws):
        first = 0
        for drawn, owner in _apart(scorer, nodes, draw):
            batch = drawn.to(scorer.compute.device)
            part = slice(first, first + batch.targets.numel())
            rows, forward = _rows(scorer.view, batch), _forward(scorer, batch)
            of_class = torch.from_numpy(labels[part]).to(rows.device)
            with scorer.compute.arithmetic():
                gradient = _mean_gradient(lambda x: log_odds(forward(x), of_class).sum(), rows, _FEW_STEPS)  # noqa: B023
            by_row = (gradient * rows).double().view(len(rows), -1, width).sum(dim=1)
            np.add.at(result[part], owner, by_row.cpu().numpy() / scorer.draws)
            first = part.stop
    return result


def _apart(scorer: Scorer, nodes: NDArray[np.int64], draw: int) -> Iterator[tuple[Batch, NDArray[np.int64]]]:
    """Batches in which every target has input rows of its own, and the index of the target of each row."""
    key = scorer.run.key.fold("eval", draw)
    if scorer.picker is not None or not scorer.batch(int(nodes[0]), draw).blocks:
        for batch in scorer.view.sampler.batches(nodes, key, _TARGETS):
            yield batch, np.arange(batch.nodes.numel()) % batch.targets.numel()
        return
    waiting: list[Batch] = []
    for index, node in enumerate(nodes.tolist()):
        waiting.append(scorer.batch(node, draw))
        sizes = [batch.nodes.numel() for batch in waiting]
        if sum(sizes) >= _ROWS or index == nodes.size - 1:
            yield _side_by_side(waiting), np.repeat(np.arange(len(sizes)), sizes)
            waiting = []


def _side_by_side(batches: Sequence[Batch]) -> Batch:
    """One batch with the rows and edges of all, in their order."""
    blocks = []
    for layer in zip(*(batch.blocks for batch in batches), strict=True):
        starts = np.cumsum([0, *(block.num_src for block in layer)]).tolist()
        ends = np.cumsum([0, *(block.indices.numel() for block in layer)]).tolist()
        weights = [block.weight for block in layer if block.weight is not None]
        blocks.append(
            Block(
                starts[-1],
                torch.cat([layer[0].indptr[:1], *(b.indptr[1:] + end for b, end in zip(layer, ends, strict=False))]),
                torch.cat([block.indices + start for block, start in zip(layer, starts, strict=False)]),
                torch.cat([block.root + start for block, start in zip(layer, starts, strict=False)]),
                torch.cat(weights) if weights else None,
            )
        )
    nodes, targets = (torch.cat([getattr(batch, name) for batch in batches]) for name in ("nodes", "targets"))
    return Batch(nodes, tuple(blocks), targets)


def target_only(scorer: Scorer, node: int) -> View:
    """The graph as the model receives it if the scaled features of all nodes but one are zero."""
    run, compute = scorer.run, scorer.compute
    with warnings.catch_warnings(action="ignore", category=InputWarning):  # said when the run was prepared
        data = match_features(scorer.dataset, run.record.dataset)
    row = csr_array(run.scaler.apply(data.x[[node]]))
    indptr = np.where(np.arange(data.num_nodes + 1) > node, row.nnz, 0)
    x = as_features(csr_array((row.data, row.indices, indptr), shape=(data.num_nodes, row.shape[1])))
    scaled, unlabelled = Scaled(x, Scaler("none")), partial(np.full, data.num_nodes, UNLABELLED)
    view = GraphView(data.graph, scaled, unlabelled, len(run.classes), run.model, run.key, compute)
    return run.plan.method.prepare(view).eval


def _forward(scorer: Scorer, batch: Batch) -> Callable[[Tensor], Tensor]:
    """From the dense input rows of a batch to the calibrated log-probabilities of its targets."""
    model = scorer.run.model.eval()

    def forward(rows: Tensor) -> Tensor:
        scores = functional.log_softmax(model(rows, batch.blocks).double(), dim=1)
        return calibrated(scores, scorer.temperature)

    return forward


def _rows(view: View, batch: Batch) -> Tensor:
    return to_dense(view.inputs.rows(batch.nodes)).float()


def _mean_gradient(function: Callable[[Tensor], Tensor], rows: Tensor, steps: int) -> Tensor:
    """The mean of a function's gradient on the line from zero to ``rows``."""
    total = torch.zeros_like(rows)
    for position, weight in zip(*_quadrature(steps), strict=True):
        x = (position * rows).requires_grad_()
        (gradient,) = torch.autograd.grad(function(x), x)
        total += weight * gradient
    return total


@lru_cache
def _quadrature(steps: int) -> tuple[list[float], list[float]]:
    """The points and weights of Gauss and Legendre's rule on [0, 1]."""
    points, weights = np.polynomial.legendre.leggauss(steps)
    return ((points + 1) / 2).tolist(), (weights / 2).tolist()


def _by_feature(contributions: Tensor, width: int) -> NDArray[np.float64]:
    """From [n, parts · width] contributions of entries of input rows to [width] contributions of features."""
    return np.asarray(contributions.double().view(-1, width).sum(dim=0).numpy())
