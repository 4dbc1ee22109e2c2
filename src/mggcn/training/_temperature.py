"""Temperature scaling: one number that scores are divided by, so that the probabilities are calibrated.

From Guo and others, On calibration of modern neural networks. The temperature is fitted on validation nodes, on
probabilities that are averaged over as many draws as those it is applied to; the order of a node's classes does not
change.

Differs from the paper: the likelihood has one more node, which belongs to every class in equal shares. Without it,
scores that are right on every validation node would lead to a temperature of 0. And the temperature is used only if it
lowers the loss in cross-validation, because one that is fitted on few nodes can make the probabilities worse.
"""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

_LOWEST = -1e3
_COLDEST, _HOTTEST = 1e-3, 1e3
_FOLDS = 5
_PRECISION = 1e-12  # of the logarithm


def choose_temperature(log_probabilities: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    """Return the temperature of :func:`fit_temperature` if it lowers the loss in cross-validation, else 1.

    The temperature of each of five folds, which have equal shares of every class, is fitted on the other four.

    Args:
        log_probabilities: [n, classes] of nodes that were not trained on.
        y: [n] their classes.
    """
    if y.size < _FOLDS:
        return 1.0
    fold = np.empty(y.size, np.int64)
    fold[np.argsort(y, kind="stable")] = np.arange(y.size) % _FOLDS
    scaled_loss = 0.0
    for number in range(_FOLDS):
        rest, held_out = fold != number, fold == number
        temperature = fit_temperature(log_probabilities[rest], y[rest])
        scaled_loss += _loss(log_probabilities[held_out], y[held_out], temperature)
    return fit_temperature(log_probabilities, y) if scaled_loss < _loss(log_probabilities, y, 1.0) else 1.0


def _loss(log_probabilities: NDArray[np.float64], y: NDArray[np.int64], temperature: float) -> float:
    """The sum of the nodes' losses at a temperature."""
    scaled = calibrated(torch.from_numpy(log_probabilities), temperature)
    return float(functional.nll_loss(scaled, torch.from_numpy(y), reduction="sum"))


def fit_temperature(log_probabilities: NDArray[np.float64], y: NDArray[np.int64]) -> float:
    """Return the temperature with the highest likelihood, between 0.001 and 1,000.

    The loss is convex in the inverse temperature β. Its slope is the mean of E[z] under softmax(βz) minus z of the true
    class, with z the log-probabilities; the root is searched on the logarithm of β.

    Args:
        log_probabilities: [n, classes] of nodes that were not trained on.
        y: [n] their classes.
    """
    from scipy.optimize import brentq

    z = torch.from_numpy(np.maximum(log_probabilities, _LOWEST))
    z = z - z.amax(dim=1, keepdim=True)
    observed = float(z.gather(1, torch.from_numpy(y)[:, None]).sum() + z.mean()) / (y.size + 1)

    def slope(log_beta: float) -> float:
        return float((torch.softmax(math.exp(log_beta) * z, dim=1) * z).sum(dim=1).mean()) - observed

    if not abs(slope(0.0)) > 0:  # it is not a number for scores that are none
        return 1.0
    low, high = -math.log(_HOTTEST), -math.log(_COLDEST)
    if slope(low) >= 0:
        return _HOTTEST
    if slope(high) <= 0:
        return _COLDEST
    return math.exp(-brentq(slope, low, high, xtol=_PRECISION))


def log_odds(log_probabilities: Tensor, labels: Tensor) -> Tensor:
    """[n] log p - log(1 - p) of a class of each node, exact where p is near 1.

    Args:
        log_probabilities: [n, classes].
        labels: [n] the classes.
    """
    column = labels.to(log_probabilities.device)[:, None]
    others = log_probabilities.scatter(1, column, -torch.inf)
    return log_probabilities.gather(1, column)[:, 0] - torch.logsumexp(others, dim=1)


def calibrated(log_probabilities: Tensor, temperature: float) -> Tensor:
    """[n, classes] log-probabilities at a temperature; unchanged at temperature 1."""
    if temperature == 1:
        return log_probabilities
    return functional.log_softmax(torch.clamp(log_probabilities, min=_LOWEST) / temperature, dim=1)
