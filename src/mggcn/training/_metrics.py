"""Metrics of scored nodes: loss, accuracy, macro-F1, confusion matrix, calibration error, and how they are ranked.

Rankings by the probability of a class are lists that somebody works through from the top. Accuracy says little if one
node in ten thousand belongs to the class. The area under the curve of precision and recall, the precision among the
first k nodes, and the threshold for a required precision say how many alerts are correct.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn.training._record import Alerts, Finite, Ranking

_BINS = 15  # of the calibration error

REQUIRED = (0.8, 0.9, 0.95, 0.99)
"""The precisions for which a record has thresholds."""

Probabilities = NDArray[np.float64]
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Scores:
    """Metrics over some nodes."""

    loss: float
    accuracy: Finite
    macro_f1: Finite


class Tally:
    """Metrics of nodes that are scored part by part, on the device of the scores.

    Attributes:
        sums: [num_classes² + 1] the cells of the confusion matrix and the loss; those of several tallies may be added.
    """

    def __init__(self, num_classes: int, device: torch.device | None = None) -> None:
        self._classes = num_classes
        self.sums = torch.zeros(num_classes**2 + 1, dtype=torch.float64, device=device)
        self._gaps = np.zeros(_BINS)

    def add(self, log_probabilities: Tensor, y: Tensor, probabilities: Probabilities | None = None) -> None:
        """Count nodes with [n, classes] log-probabilities and [n] classes.

        For the calibration error, ``probabilities`` [n, classes] are the calibrated ones.
        """
        self.sums.index_add_(0, y * self._classes + log_probabilities.argmax(dim=1), self.sums.new_ones(y.numel()))
        self.sums[-1] -= log_probabilities.gather(1, y[:, None]).double().sum()
        if probabilities is not None:
            confidence, correct = probabilities.max(axis=1), probabilities.argmax(axis=1) == y.cpu().numpy()
            bins = np.clip(np.ceil(confidence * _BINS).astype(np.int64) - 1, 0, _BINS - 1)
            self._gaps += np.bincount(bins, confidence, _BINS) - np.bincount(bins, correct, _BINS)

    @property
    def count(self) -> int:
        """The number of nodes."""
        return int(self.sums[:-1].sum())

    @property
    def scores(self) -> Scores:
        """Loss, accuracy and macro-F1.

        Macro-F1 is the mean over the classes that occur among the labels, so that it does not depend on the predictions
        which classes count.
        """
        cells = self.sums[:-1].view(self._classes, self._classes)
        hits, labelled, predicted, count = cells.diagonal(), cells.sum(dim=1), cells.sum(dim=0), cells.sum()
        f1 = (2 * hits / (labelled + predicted).clamp(min=1)).sum() / (labelled > 0).sum()
        return Scores(*torch.stack([self.sums[-1] / count, hits.sum() / count, f1]).tolist())

    @property
    def confusion(self) -> list[list[int]]:
        """A row per true class, a column per predicted class."""
        counts: list[list[int]] = self.sums[:-1].long().view(self._classes, self._classes).tolist()
        return counts

    @property
    def calibration_error(self) -> float:
        """The expected calibration error: how far the probability of the predicted class is from its accuracy.

        Nodes are put into bins of equal width by that probability; the error is the mean over nodes of the difference
        between the mean probability and the accuracy of their bin.
        """
        return float(np.abs(self._gaps).sum() / self.count)


@dataclass(frozen=True, eq=False)
class Top:
    """The nodes with the highest probability of a class.

    Attributes:
        indices: [k] their indices among the ranked nodes, the most probable first; equal nodes keep their order.
        known: the number of them that have a label.
        correct: the number of those that belong to the class.
    """

    indices: NDArray[np.int64]
    known: int
    correct: int

    @classmethod
    def of(cls, k: int, probabilities: Probabilities, y: Labels, label: int) -> "Top":
        """The first k nodes, or all, by their [n] probabilities of a class; y is negative where it is unknown."""
        indices = np.argsort(-probabilities, kind="stable")[:k]
        labels = y[indices]
        return cls(indices, int((labels >= 0).sum()), int((labels == label).sum()))

    @property
    def precision(self) -> float | None:
        """The share of the labelled ones that belong to the class; None if none has a label."""
        return self.correct / self.known if self.known else None


class Ranked:
    """Nodes ranked by their [n] probabilities of a class, with counts at each distinct one, the highest first."""

    def __init__(self, p: Probabilities, is_member: NDArray[np.bool_]) -> None:
        self._p, self._is_member = np.nan_to_num(p), is_member
        order = np.argsort(-self._p)
        ranked = self._p[order]
        last = np.flatnonzero(np.diff(ranked, append=np.nan) != 0)
        self._hits, self._counts = np.cumsum(is_member[order], dtype=np.int64)[last], last + 1
        self._values = ranked[last]

    def pr_auc(self) -> float | None:
        """The area under the curve of precision and recall, as average precision; None if no node is a member."""
        from sklearn.metrics import average_precision_score

        return min(float(average_precision_score(self._is_member, self._p)), 1.0) if self._is_member.any() else None

    def roc_auc(self) -> float | None:
        """The area under the ROC curve; None if all nodes are members, or none is."""
        from sklearn.metrics import roc_auc_score

        is_defined = self._is_member.any() and not self._is_member.all()
        return min(float(roc_auc_score(self._is_member, self._p)), 1.0) if is_defined else None

    def precision_at(self, ks: NDArray[np.int64]) -> NDArray[np.float64]:
        """The precision among the first k nodes, for each k; among equal probabilities the mean over their orders."""
        shares = np.interp(ks, np.concatenate([[0], self._counts]), np.concatenate([[0], self._hits])) / ks
        return np.asarray(np.minimum(shares, 1.0))

    def threshold_for(self, required: float, base_rate: float | None = None) -> float | None:
        """The lowest probability p such that nodes with at least p have the required precision; None if none does.

        With a base rate, it is the precision where members are that share of all nodes, see :func:`precision_at_rate`.
        """
        reached = np.flatnonzero(self._hits >= required * self._counts)
        if base_rate is not None:
            members, count = self._is_member.sum(), self._is_member.size
            precision = precision_at_rate(self._hits, self._counts, members, count, base_rate)
            reached = np.flatnonzero(precision >= required)
        return min(float(self._values[reached[-1]]), 1.0) if reached.size else None

    def reaching(self, bound: float | None) -> tuple[int, int]:
        """How many nodes have at least a probability, and how many of them are members; zero for None."""
        above = 0 if bound is None else int(np.searchsorted(-self._values, -bound, side="right"))
        return (int(self._counts[above - 1]), int(self._hits[above - 1])) if above else (0, 0)


def precision_at_rate(
    hits: NDArray[np.int64], alerts: NDArray[np.int64], members: int, count: int, base_rate: float
) -> NDArray[np.float64]:
    """The precision of alerts where another share of the nodes are members than of those that were counted.

    The shares of members and of other nodes that raise an alert are taken to be the same, so the precision follows by
    Bayes' rule. It is NaN if nothing raises an alert, or if members or others are missing.

    Args:
        hits: the members among the alerts.
        alerts: their number.
        members: the number of members that were counted.
        count: the number of nodes that were counted.
        base_rate: the share of members where the precision is wanted.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        right = base_rate * (np.asarray(hits) / members)
        wrong = (1 - base_rate) * ((np.asarray(alerts) - hits) / (count - members))
        return np.asarray(right / (right + wrong), np.float64)


def probabilities_at_rate(p: Probabilities, share: float, base_rate: float) -> Probabilities:
    """Probabilities of a class where it has another share of the nodes than of those that trained the model.

    The odds are multiplied by the ratio of the odds of both shares (Saerens, Latinne and Decaestecker, 2002).
    """
    odds = base_rate / (1 - base_rate) * (1 - share) / share
    return np.asarray(odds * p / (odds * p + (1 - p)), np.float64)


def ks_of(count: int) -> NDArray[np.int64]:
    """1, 2, 5, 10, 20, 50 and so on, up to the number of nodes."""
    numbers = (digit * 10**power for power in itertools.count() for digit in (1, 2, 5))
    return np.array(list(itertools.takewhile(lambda number: number <= count, numbers)), np.int64)


def ranking_of(val: Probabilities, val_y: Labels, test: Probabilities, test_y: Labels) -> Ranking:
    """The ranking of the test nodes, with thresholds chosen on the validation nodes; probabilities are [n, classes]."""
    of_val, of_test = (
        [Ranked(p[:, label], y == label) for label in range(p.shape[1])] for p, y in ((val, val_y), (test, test_y))
    )
    ks, alerts = ks_of(test_y.size), []
    for required in REQUIRED:
        bounds = [ranked.threshold_for(required) for ranked in of_val]
        in_val, in_test = (
            [ranked.reaching(bound) for ranked, bound in zip(part, bounds, strict=True)] for part in (of_val, of_test)
        )
        nodes, members = zip(*in_test, strict=True)
        alerts.append(Alerts(required, bounds, [count for count, _ in in_val], [*nodes], [*members]))
    return Ranking(
        [ranked.pr_auc() for ranked in of_test],
        [ranked.roc_auc() for ranked in of_test],
        ks.tolist(),
        [ranked.precision_at(ks).tolist() for ranked in of_test],
        alerts,
    )
