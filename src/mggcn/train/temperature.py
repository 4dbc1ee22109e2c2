"""Temperature scaling: one number that scores are divided by, so that probabilities are as often right as they say.

On calibration of modern neural networks (Guo and others). The number is fitted on validation nodes; the order of the
classes of a node stays as it is.

Differs from the paper: the likelihood has one more node, of no class in particular. Without it scores that are right on
every validation node would call for a temperature of 0.
"""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

_LOWEST = -1e3
_COLDEST, _HOTTEST = 1e-3, 1e3
_MOST_STEPS = 200


def fit_temperature(log_probabilities: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    """The temperature with the highest likelihood, by Newton's method inside an interval that halves where it must.

    The loss is convex in the inverse temperature β; with z the log-probabilities its slope is the mean of E[z] under
    softmax(βz) less z of the true class, and its curvature the mean variance of z.

    Args:
        log_probabilities: [n, classes] of nodes that were not trained on.
        y: [n] their classes.
    """
    n = y.size
    z = np.maximum(log_probabilities, _LOWEST)
    z = z - z.max(axis=1, keepdims=True)
    aim = (z[np.arange(n), y].sum() + z.mean()) / (n + 1)
    low, high, beta = 1 / _HOTTEST, 1 / _COLDEST, 1.0
    for _ in range(_MOST_STEPS):
        p = np.exp(beta * z)
        p /= p.sum(axis=1, keepdims=True)
        means = (p * z).sum(axis=1)
        slope = means.mean() - aim
        curvature = float(((p * z * z).sum(axis=1) - means**2).mean())
        if slope == 0:
            break
        low, high = (low, beta) if slope > 0 else (beta, high)
        step = beta - slope / curvature if curvature > 0 else math.nan
        new = float(step) if low < step < high else math.sqrt(low * high)
        if abs(new - beta) <= 1e-12 * beta:
            break
        beta = new
    return 1 / beta


def calibrated(log_probabilities: Tensor, temperature: float) -> Tensor:
    """[n, classes] log-probabilities at a temperature; at 1 they are as they were."""
    if temperature == 1:
        return log_probabilities
    return functional.log_softmax(torch.clamp(log_probabilities, min=_LOWEST) / temperature, dim=1)
