"""Alerts: the nodes whose probability of a class reaches a threshold that was chosen on the validation nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from mggcn.data import BACKGROUND
from mggcn.errors import InputError
from mggcn.runs._ensembles import ensemble
from mggcn.runs._labels import labels_in
from mggcn.runs._parts import VAL, most_used, nodes_in, parts_of
from mggcn.runs._run import Run
from mggcn.training import Ranked


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The lowest probability of each class that has the required precision on the validation nodes.

    Attributes:
        required: the precision.
        classes: the name of each class.
        values: [classes] the thresholds; NaN where no probability has the required precision, and for the class
            Background, which needs no alert.
        reached: [classes] the number of validation nodes that reach the threshold.
        members: [classes] the number of validation nodes of the class.
    """

    required: float
    classes: tuple[str, ...]
    values: NDArray[np.float64]
    reached: NDArray[np.int64]
    members: NDArray[np.int64]

    def reach(self, probabilities: NDArray[np.float64]) -> NDArray[np.bool_]:
        """[n, classes] whether nodes are an alert for a class."""
        return np.asarray(probabilities >= self.values)

    def alerts(self, probabilities: NDArray[np.float64]) -> NDArray[np.str_]:
        """[n] the most probable of the classes that a node is an alert for; empty if it is none."""
        reached = self.reach(probabilities)
        best = np.where(reached, probabilities, -1).argmax(axis=1)
        return np.where(reached.any(axis=1), np.array(self.classes)[best], "")


def thresholds(
    runs: Sequence[Run],
    at_precision: float,
    *,
    draws: int | None = None,
    calibrated: bool = True,
    device: str | torch.device = "auto",
    root: Path | None = None,
) -> Thresholds:
    """Choose the thresholds of runs, or of their mean, on the nodes of their training data that all validated on.

    Args:
        runs: at least one, see :func:`mggcn.runs.ensemble` for this and the following ones.
        at_precision: the precision among validation nodes that reach a threshold, above 0 and at most 1.
        draws: see there.
        calibrated: see there.
        device: see there.
        root: the folder in which named data sets are searched.
    """
    if not 0 < at_precision <= 1:
        raise InputError(f"at_precision: {at_precision:g} is not a share above 0 and at most 1")
    try:
        data = runs[0].training_data(root)
    except (InputError, OSError) as error:
        raise InputError(
            f"at_precision: needs the validation nodes of the training data, which are not available ({error})"
        ) from None
    candidates = nodes_in(runs[0], data, (VAL,), root)
    parts = most_used([parts_of(run, data, candidates, root) for run in runs])
    nodes = candidates[(parts == VAL) & (labels_in(data, runs[0].classes, candidates) >= 0)]
    if data.copies:
        nodes = np.intersect1d(nodes, data.require_split().val)  # without later copies of the same accounts
    if not nodes.size:
        raise InputError("at_precision: the runs have no validation nodes in common")
    predictions = ensemble(runs, data, nodes, draws=draws, calibrated=calibrated, device=device, root=root)
    classes, values = runs[0].classes, np.full(len(runs[0].classes), np.nan)
    labels = labels_in(data, classes, nodes)
    for label, name in enumerate(classes):
        bound = Ranked.of(predictions.probabilities[:, label], labels == label).threshold_for(at_precision)
        if bound is not None and name != BACKGROUND:
            values[label] = bound
    reached = (predictions.probabilities >= values).sum(axis=0)
    return Thresholds(at_precision, classes, values, reached, np.bincount(labels, minlength=len(classes)))
