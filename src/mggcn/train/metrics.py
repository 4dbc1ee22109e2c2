"""Scores of predictions: loss, accuracy, macro-F1, confusion; calibration; and how pure the top of a ranking is."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

ECE_BINS = 15


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


def calibration_error(probabilities: NDArray[np.float64], y: NDArray[np.int64], bins: int = ECE_BINS) -> float:
    """The expected calibration error: how far the probability of the class given is from how often it is right.

    Nodes are put into bins of equal width by that probability; the error is the mean over nodes of the difference
    between the two means of their bin.

    Args:
        probabilities: [n, classes].
        y: [n] the true classes.
        bins: how many.
    """
    sure = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == y
    place = np.clip(np.ceil(sure * bins).astype(np.int64) - 1, 0, bins - 1)
    gaps = np.bincount(place, sure, bins) - np.bincount(place, right, bins)
    return float(np.abs(gaps).sum() / y.size)


@dataclass(frozen=True, eq=False)
class Top:
    """The nodes that are most probably of a class.

    Attributes:
        places: [k] where they stand among those that were ranked, the most probable first.
        known: how many of them have a label.
        right: how many of those are of the class.
    """

    places: NDArray[np.int64]
    known: int
    right: int

    @property
    def precision(self) -> float | None:
        """The share of those with a label that are of the class; None where no label is known."""
        return self.right / self.known if self.known else None


def precision_at(k: int, probabilities: NDArray[np.float64], y: NDArray[np.int64], label: int) -> Top:
    """Rank nodes by the probability of a class and look at the first k; equals keep their order.

    Args:
        k: how many, or all where there are fewer.
        probabilities: [n] of the class.
        y: [n] true classes, negative where unknown.
        label: the class.
    """
    places = np.argsort(-probabilities, kind="stable")[:k]
    found = y[places]
    return Top(places, int((found >= 0).sum()), int((found == label).sum()))
