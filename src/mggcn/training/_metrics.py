"""Metrics of predictions: loss, accuracy, macro-F1, confusion matrix, calibration error and precision at k."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn.training._record import Finite

ECE_BINS = 15

NUM_SUMS = 4
"""The sums over nodes from which metrics follow."""


@dataclass(frozen=True)
class Scores:
    """Metrics over some nodes."""

    loss: float
    accuracy: Finite
    macro_f1: Finite


def score(log_probabilities: Tensor, y: Tensor) -> Scores:
    """Score [n, classes] log-probabilities against [n] labels.

    Macro-F1 is the mean over the classes that occur among the labels, so that it does not depend on the predictions
    which classes count.
    """
    return of_sums(sums_of(log_probabilities, y))


def sums_of(log_probabilities: Tensor, y: Tensor) -> Tensor:
    """[4, classes] float64: the loss, and the numbers of correct, labelled and predicted nodes, by label.

    Sums over several parts of the nodes may be added before :func:`of_sums`.
    """
    predicted = log_probabilities.argmax(dim=1)
    values = torch.zeros(NUM_SUMS, log_probabilities.shape[1], dtype=torch.float64, device=y.device)
    values[0, 0] = -log_probabilities.gather(1, y[:, None]).double().sum()
    ones = torch.ones(y.numel(), dtype=torch.float64, device=y.device)
    for row, (labels, counted) in enumerate([(y, (predicted == y).double()), (y, ones), (predicted, ones)], 1):
        values[row].index_add_(0, labels, counted)
    return values


def of_sums(values: Tensor) -> Scores:
    """The metrics of nodes with these :func:`sums_of`."""
    losses, hits, labelled, predicted = values
    count = labelled.sum()
    f1 = (2 * hits / (labelled + predicted).clamp(min=1)).sum() / (labelled > 0).sum()
    return Scores(*torch.stack([losses[0] / count, hits.sum() / count, f1]).tolist())


def confusion(log_probabilities: Tensor, y: Tensor) -> Tensor:
    """[classes, classes] the confusion matrix: a row per true class, a column per predicted class."""
    classes = log_probabilities.shape[1]
    cells = torch.bincount(y * classes + log_probabilities.argmax(dim=1), minlength=classes * classes)
    return cells.view(classes, classes)


def calibration_error(probabilities: NDArray[np.float64], y: NDArray[np.int64], bins: int = ECE_BINS) -> float:
    """The expected calibration error: how far the probability of the predicted class is from its accuracy.

    Nodes are put into bins of equal width by that probability; the error is the mean over nodes of the difference
    between the mean probability and the accuracy of their bin.

    Args:
        probabilities: [n, classes].
        y: [n] the true classes.
        bins: the number of bins.
    """
    return float(np.abs(calibration_gaps(probabilities, y, bins)).sum() / y.size)


def calibration_gaps(
    probabilities: NDArray[np.float64], y: NDArray[np.int64], bins: int = ECE_BINS
) -> NDArray[np.float64]:
    """[bins] the sum of probabilities of predicted classes minus the number of correct nodes; parts may be added."""
    confidence = probabilities.max(axis=1)
    correct = probabilities.argmax(axis=1) == y
    bin_index = np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)
    return np.asarray(np.bincount(bin_index, confidence, bins) - np.bincount(bin_index, correct, bins), np.float64)


class Tally:
    """Metrics of nodes that are scored part by part.

    Args:
        num_classes: the number of classes.
        device: of the scores.
    """

    def __init__(self, num_classes: int, device: torch.device | None = None) -> None:
        self.count = 0
        self._sums = torch.zeros(NUM_SUMS, num_classes, dtype=torch.float64, device=device)
        self._cells = torch.zeros(num_classes, num_classes, dtype=torch.int64, device=device)
        self._gaps = np.zeros(ECE_BINS)

    def add(self, log_probabilities: Tensor, y: Tensor, probabilities: NDArray[np.float64]) -> None:
        """Count some nodes.

        Args:
            log_probabilities: [n, classes].
            y: [n] the true classes.
            probabilities: [n, classes] calibrated.
        """
        self.count += y.numel()
        self._sums += sums_of(log_probabilities, y)
        self._cells += confusion(log_probabilities, y)
        self._gaps += calibration_gaps(probabilities, y.cpu().numpy())

    @property
    def scores(self) -> Scores:
        """Loss, accuracy and macro-F1."""
        return of_sums(self._sums)

    @property
    def confusion(self) -> list[list[int]]:
        """A row per true class, a column per predicted class."""
        counts: list[list[int]] = self._cells.tolist()
        return counts

    @property
    def calibration_error(self) -> float:
        """The expected calibration error, see :func:`calibration_error`."""
        return float(np.abs(self._gaps).sum() / self.count)


@dataclass(frozen=True, eq=False)
class Top:
    """The nodes with the highest probability of a class.

    Attributes:
        indices: [k] their indices among the ranked nodes, the most probable first.
        known: the number of them that have a label.
        correct: the number of those that belong to the class.
    """

    indices: NDArray[np.int64]
    known: int
    correct: int

    @property
    def precision(self) -> float | None:
        """The share of the labelled ones that belong to the class; None if none has a label."""
        return self.correct / self.known if self.known else None


def precision_at(k: int, probabilities: NDArray[np.float64], y: NDArray[np.int64], label: int) -> Top:
    """Rank nodes by the probability of a class and count the labels of the first k; equal nodes keep their order.

    Args:
        k: the number of nodes; all if there are fewer.
        probabilities: [n] of the class.
        y: [n] true classes, negative where unknown.
        label: the class.
    """
    indices = np.argsort(-probabilities, kind="stable")[:k]
    labels = y[indices]
    return Top(indices, int((labels >= 0).sum()), int((labels == label).sum()))
