"""Scores of predictions: loss, accuracy, macro-F1."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Scores:
    """How well some nodes were predicted."""

    loss: float
    accuracy: float
    macro_f1: float


def score(log_probabilities: NDArray[np.float64], y: NDArray[np.int64]) -> Scores:
    """Score [n, classes] log-probabilities against [n] labels.

    Macro-F1 is the mean over the classes that occur among the labels or the predictions.
    """
    predicted = log_probabilities.argmax(axis=1)
    loss = -float(log_probabilities[np.arange(y.size), y].mean())
    classes = log_probabilities.shape[1]
    hits = np.bincount(y[predicted == y], minlength=classes)
    total = np.bincount(y, minlength=classes) + np.bincount(predicted, minlength=classes)
    present = total > 0
    return Scores(loss, float((predicted == y).mean()), float((2 * hits[present] / total[present]).mean()))
