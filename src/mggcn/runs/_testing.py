"""The test nodes of a run, scored once: by one model, or by several whose calibrated probabilities are averaged."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn.runs._scorer import calibration_nodes
from mggcn.training import Fit, Inference, Tally, calibrated, choose_temperature, packed_bits, ranking_of

RANKED = 1_000_000
"""The most test nodes whose probabilities are kept to measure how well they rank; more are selected by hash."""

Probabilities = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Calibrated:
    """A trained model with its temperature, which is fitted on validation nodes."""

    fit: Fit

    @cached_property
    def inference(self) -> Inference:
        """The model on its evaluation view."""
        return Inference.of(self.fit)

    @cached_property
    def val(self) -> NDArray[np.int64]:
        """The validation nodes on which the temperature is fitted."""
        return calibration_nodes(self.fit.dataset, self.fit.key)

    @cached_property
    def val_scores(self) -> Tensor:
        """[n, classes] their log-probabilities, not calibrated."""
        return self.inference.predict(self.val)

    @cached_property
    def temperature(self) -> float:
        """1 if it does not help, or if the probabilities are those in the graph."""
        if self.fit.training.background_prior:
            return 1.0
        return choose_temperature(self.val_scores.cpu().numpy(), self.fit.dataset.y[self.val])

    @property
    def val_probabilities(self) -> Probabilities:
        """[n, classes] the calibrated ones of the validation nodes."""
        return probabilities(calibrated(self.val_scores, self.temperature))


class _Tested:
    """What is measured of the test nodes, which are scored part by part."""

    def __init__(self, fit: Fit) -> None:
        self._fit = fit
        self._tally, self._raw = (Tally(fit.dataset.num_classes, fit.compute.device) for _ in range(2))
        self._ranked = fit.key.fold("ranking").select(fit.split.test, RANKED)
        self._kept: list[Probabilities] = []
        self._right: list[NDArray[np.bool_]] = []
        self._count = 0

    def add(self, scores: Tensor, p: Probabilities, raw: Probabilities) -> None:
        """Count the next nodes: log-probabilities for the predicted class; calibrated and raw probabilities."""
        test = self._fit.split.test
        nodes = test[self._count : self._count + len(scores)]
        y = torch.from_numpy(self._fit.dataset.y[nodes]).to(self._fit.compute.device)
        self._tally.add(scores, y, p)
        self._raw.add(scores, y, raw)
        self._right.append((scores.argmax(dim=1) == y).cpu().numpy())
        self._kept.append(p if self._ranked.size == test.size else p[np.isin(nodes, self._ranked)])
        self._count += len(scores)

    def fields(self, temperature: float, val: NDArray[np.int64], val_p: Probabilities) -> dict[str, Any]:
        """The fields of a record."""
        y = self._fit.dataset.y
        return {
            "test_accuracy": self._tally.scores.accuracy,
            "test_macro_f1": self._tally.scores.macro_f1,
            "test_confusion": self._tally.confusion,
            "temperature": temperature,
            "test_ece": self._tally.calibration_error,
            "test_ece_uncalibrated": self._raw.calibration_error,
            "ranking": ranking_of(val_p, y[val], np.concatenate(self._kept), y[self._ranked]),
            "test_right": packed_bits(np.concatenate(self._right)),
        }


def score_test(models: Sequence[Calibrated]) -> tuple[list[dict[str, Any]], float]:
    """Fields of a record for each model, the first of them for the mean of all; and the seconds to score the nodes."""
    first, fit = models[0], models[0].fit
    val_p = [model.val_probabilities for model in models]
    started = time.perf_counter()
    tested = [_Tested(model.fit) for model in models]
    for parts in zip(*(model.inference.predict_chunks(fit.split.test) for model in models), strict=True):
        of_models = [
            (scores, probabilities(calibrated(scores, model.temperature)), probabilities(scores))
            for scores, model in zip(parts, models, strict=True)
        ]
        for number, (one, scored) in enumerate(zip(tested, of_models, strict=True)):
            one.add(*(scored if number or len(models) == 1 else _mean(of_models)))
    seconds = time.perf_counter() - started
    val_p[0] = mean(val_p)
    of_each = zip(tested, models, val_p, strict=True)
    return [one.fields(model.temperature, first.val, p) for one, model, p in of_each], seconds


def mean(values: Sequence[Probabilities]) -> Probabilities:
    """The mean of the probabilities of several models."""
    return values[0] if len(values) == 1 else np.mean(values, axis=0)


def _mean(scored: Sequence[tuple[Tensor, Probabilities, Probabilities]]) -> tuple[Tensor, Probabilities, Probabilities]:
    p, raw = mean([p for _, p, _ in scored]), mean([raw for _, _, raw in scored])
    return torch.from_numpy(p).log().to(scored[0][0].device), p, raw


def probabilities(log_probabilities: Tensor) -> Probabilities:
    """The probabilities on the CPU."""
    return np.asarray(log_probabilities.exp().cpu().numpy(), np.float64)
