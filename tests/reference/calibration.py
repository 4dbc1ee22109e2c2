"""The expected calibration error, bin by bin."""

import numpy as np
from numpy.typing import NDArray


def calibration_error(probabilities: NDArray[np.float64], y: NDArray[np.int64], bins: int = 15) -> float:
    """The mean over nodes of the difference between the mean confidence and the accuracy of their bin."""
    confidence, is_correct = probabilities.max(axis=1), probabilities.argmax(axis=1) == y
    total = 0.0
    for number in range(bins):
        inside = (confidence > number / bins) & (confidence <= (number + 1) / bins)
        total += abs((confidence[inside] - is_correct[inside]).sum())
    return total / y.size
