"""Alerts: the nodes whose probability of a class reaches a threshold that was chosen on the validation nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mggcn.data import BACKGROUND, Dataset
from mggcn.errors import InputError
from mggcn.runs._nodes import VAL, labels_in, parts_of
from mggcn.training import Ranked

if TYPE_CHECKING:
    from mggcn.runs._run import Run


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


def check_precision(required: float) -> None:
    """Raise InputError unless this can be a precision."""
    if not 0 < required <= 1:
        raise InputError(f"at_precision: {required:g} is not a share above 0 and at most 1")


def validation_nodes(
    runs: "Sequence[Run]", data: Dataset, root: Path | None = None
) -> tuple[Dataset, NDArray[np.int64]]:
    """The training data of runs, which ``data`` may be, and its labelled nodes that all of them validated on."""
    if not runs[0].is_trained_on(data):
        try:
            data = runs[0].training_data(root)
        except (InputError, OSError) as error:
            raise InputError(
                f"at_precision: needs the validation nodes of the training data, which are not available ({error})"
            ) from None
    nodes = np.flatnonzero(parts_of(runs, data, np.arange(data.num_nodes)) == VAL)
    nodes = nodes[labels_in(data, runs[0].classes, nodes) >= 0]
    if data.copies:
        nodes = np.intersect1d(nodes, data.require_split().val)  # without later copies of the same accounts
    if not nodes.size:
        raise InputError("at_precision: the runs have no validation nodes in common")
    return data, nodes


def choose_thresholds(
    required: float,
    probabilities: NDArray[np.float64],
    data: Dataset,
    nodes: NDArray[np.int64],
    classes: tuple[str, ...],
) -> Thresholds:
    """The thresholds for a precision on nodes with these probabilities."""
    values, labels = np.full(len(classes), np.nan), labels_in(data, classes, nodes)
    for label, name in enumerate(classes):
        bound = Ranked(probabilities[:, label], labels == label).threshold_for(required)
        if bound is not None and name != BACKGROUND:
            values[label] = bound
    reached = (probabilities >= values).sum(axis=0)
    return Thresholds(required, classes, values, reached, np.bincount(labels, minlength=len(classes)))
