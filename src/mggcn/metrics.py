"""Scores of predictions: loss, accuracy, macro-F1, confusion; computed where the predictions are."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Scores:
    """How well some nodes were predicted."""

    loss: float
    accuracy: float
    macro_f1: float


def score(log_probabilities: Tensor, y: Tensor) -> Scores:
    """Score [n, classes] log-probabilities against [n] labels.

    Macro-F1 is the mean over the classes that occur among the labels or the predictions.
    """
    classes = log_probabilities.shape[1]
    predicted = log_probabilities.argmax(dim=1)
    right = predicted == y
    loss = -log_probabilities.gather(1, y[:, None]).double().mean()
    hits = torch.zeros(classes, dtype=torch.float64, device=y.device).index_add_(0, y, right.double())
    ones = torch.ones(y.numel(), dtype=torch.float64, device=y.device)
    total = torch.zeros(classes, dtype=torch.float64, device=y.device).index_add_(0, y, ones)
    total.index_add_(0, predicted, ones)
    f1 = (2 * hits / total.clamp(min=1)).sum() / (total > 0).sum()
    return Scores(*torch.stack([loss, right.double().mean(), f1]).tolist())


def confusion(log_probabilities: Tensor, y: Tensor) -> list[list[int]]:
    """How many nodes of each class (a row) are most probably of each class (a column)."""
    classes = log_probabilities.shape[1]
    cells = torch.bincount(y * classes + log_probabilities.argmax(dim=1), minlength=classes * classes)
    counts: list[list[int]] = cells.view(classes, classes).tolist()
    return counts
