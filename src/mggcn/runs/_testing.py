"""Testing a trained model: its temperature, and metrics of the test nodes, which are scored some at a time."""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn.runs._calibration import calibration_nodes
from mggcn.training import (
    ECE_BINS,
    Fit,
    Inference,
    Ranking,
    Scores,
    Tally,
    calibrated,
    calibration_gaps,
    choose_temperature,
    ranking_of,
)

RANKED = 1_000_000
"""The most test nodes whose probabilities are kept to measure how well they rank; more are selected by hash."""


@dataclass(frozen=True)
class Tested:
    """Metrics of the test nodes; those of ranking and the temperature are of at most 1,000,000 nodes of a part.

    Attributes:
        scores: loss, accuracy and macro-F1.
        confusion: a row per true class, a column per predicted class.
        temperature: of calibrated probabilities, fitted on validation nodes.
        ece: the expected calibration error of calibrated probabilities.
        ece_uncalibrated: that of others.
        ranking: of the test nodes, with thresholds chosen on validation nodes.
        seconds: that scoring the test nodes took.
    """

    scores: Scores
    confusion: list[list[int]] = field(repr=False)
    temperature: float
    ece: float
    ece_uncalibrated: float
    ranking: Ranking = field(repr=False)
    seconds: float

    def fields(self) -> dict[str, Any]:
        """The fields of a record."""
        return {
            "test_accuracy": self.scores.accuracy,
            "test_macro_f1": self.scores.macro_f1,
            "test_confusion": self.confusion,
            "temperature": self.temperature,
            "test_ece": self.ece,
            "test_ece_uncalibrated": self.ece_uncalibrated,
            "ranking": self.ranking,
        }


def test(fit: Fit) -> Tested:
    """Fit the temperature on validation nodes, and measure the test nodes."""
    dataset, split, temperature = fit.dataset, fit.split, 1.0
    val, ranked = calibration_nodes(dataset, fit.key), fit.key.fold("ranking").select(split.test, RANKED)
    inference = Inference.of(fit)
    val_scores = inference.predict(val)
    if not fit.training.background_prior:
        temperature = choose_temperature(val_scores.cpu().numpy(), dataset.y[val])
    started, first = time.perf_counter(), 0
    tally, raw_gaps, kept = Tally(dataset.num_classes, fit.compute.device), np.zeros(ECE_BINS), []
    for scores in inference.predict_chunks(split.test):
        nodes = split.test[first : first + len(scores)]
        y, p = dataset.y[nodes], _probabilities(calibrated(scores, temperature))
        tally.add(scores, torch.from_numpy(y).to(fit.compute.device), p)
        raw_gaps += calibration_gaps(_probabilities(scores), y)
        kept.append(p if ranked.size == split.test.size else p[np.isin(nodes, ranked)])
        first += len(scores)
    seconds = time.perf_counter() - started
    val_p = _probabilities(calibrated(val_scores, temperature))
    return Tested(
        tally.scores,
        tally.confusion,
        temperature,
        tally.calibration_error,
        float(np.abs(raw_gaps).sum() / tally.count),
        ranking_of(val_p, dataset.y[val], np.concatenate(kept), dataset.y[ranked]),
        seconds,
    )


def _probabilities(log_probabilities: Tensor) -> NDArray[np.float64]:
    return np.asarray(log_probabilities.exp().cpu().numpy(), np.float64)
