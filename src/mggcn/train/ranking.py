"""Metrics of ranking nodes by the probability of a class, for lists that somebody works through from the top.

Accuracy says little if one node in ten thousand belongs to the class. The area under the curve of precision and recall,
the precision among the first k nodes, and the threshold for a required precision say how many alerts are correct.
"""

import itertools

import numpy as np
from numpy.typing import NDArray

from mggcn.records.ranking import Alerts, Ranking

REQUIRED = (0.8, 0.9, 0.95, 0.99)
"""The precisions for which a record has thresholds."""

Probabilities = NDArray[np.float64]
Members = NDArray[np.bool_]


def pr_auc(p: Probabilities, is_member: Members) -> float | None:
    """The average precision: the sum over distinct probabilities of the precision times the increase of recall.

    Args:
        p: [n] probabilities of a class.
        is_member: [n] whether a node belongs to it; None is returned if none does.
    """
    if not is_member.any():
        return None
    hits, counts, _ = _cuts(p, is_member)
    return min(float((hits / counts * np.diff(hits, prepend=0)).sum() / hits[-1]), 1.0)


def roc_auc(p: Probabilities, is_member: Members) -> float | None:
    """The area under the ROC curve: the share of pairs of a member and another node in which the member is first.

    Pairs with equal probabilities count half. None if all nodes are members, or none is.
    """
    hits, counts, _ = _cuts(p, is_member)
    if not hits.size or not 0 < hits[-1] < counts[-1]:
        return None
    recall, false_positives = (np.concatenate([[0], values / values[-1]]) for values in (hits, counts - hits))
    return min(float(np.trapezoid(recall, false_positives)), 1.0)


def precision_at(ks: NDArray[np.int64], p: Probabilities, is_member: Members) -> NDArray[np.float64]:
    """The precision among the first k nodes, for each k; among equal probabilities the mean over their orders."""
    hits, counts, _ = _cuts(p, is_member)
    shares = np.interp(ks, np.concatenate([[0], counts]), np.concatenate([[0], hits])) / ks
    return np.asarray(np.minimum(shares, 1.0))


def ks_of(count: int) -> NDArray[np.int64]:
    """1, 2, 5, 10, 20, 50 and so on, up to the number of nodes."""
    numbers = (digit * 10**power for power in itertools.count() for digit in (1, 2, 5))
    return np.array(list(itertools.takewhile(lambda number: number <= count, numbers)), np.int64)


def threshold_for(required: float, p: Probabilities, is_member: Members) -> float | None:
    """The lowest probability p such that nodes with at least p have the required precision; None if there is none."""
    hits, counts, values = _cuts(p, is_member)
    reached = np.flatnonzero(hits >= required * counts)
    return min(float(values[reached[-1]]), 1.0) if reached.size else None


def measure(val: Probabilities, val_y: NDArray[np.int64], test: Probabilities, test_y: NDArray[np.int64]) -> Ranking:
    """The ranking of the test nodes, with thresholds chosen on the validation nodes.

    Args:
        val: [n, classes] probabilities of the validation nodes.
        val_y: [n] their classes.
        test: [m, classes] probabilities of the test nodes.
        test_y: [m] their classes.
    """
    labels, ks = range(test.shape[1]), ks_of(test_y.size)
    return Ranking(
        [pr_auc(test[:, label], test_y == label) for label in labels],
        [roc_auc(test[:, label], test_y == label) for label in labels],
        ks.tolist(),
        [precision_at(ks, test[:, label], test_y == label).tolist() for label in labels],
        [alerts(required, val, val_y, test, test_y) for required in REQUIRED],
    )


def alerts(
    required: float, val: Probabilities, val_y: NDArray[np.int64], test: Probabilities, test_y: NDArray[np.int64]
) -> Alerts:
    """The threshold of each class for a required precision of validation nodes, and the alerts it gives."""
    labels = range(val.shape[1])
    thresholds = [threshold_for(required, val[:, label], val_y == label) for label in labels]
    reached = [
        (val[:, label] >= bound, test[:, label] >= bound) if (bound := thresholds[label]) is not None else None
        for label in labels
    ]
    return Alerts(
        required,
        thresholds,
        [0 if pair is None else int(pair[0].sum()) for pair in reached],
        [0 if pair is None else int(pair[1].sum()) for pair in reached],
        [
            0 if pair is None else int((pair[1] & (test_y == label)).sum())
            for label, pair in zip(labels, reached, strict=True)
        ],
    )


def _cuts(p: Probabilities, is_member: Members) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """For each distinct probability, the highest first: members and nodes with at least it, and itself."""
    order = np.argsort(-p, kind="stable")
    ranked = p[order]
    last = np.flatnonzero(np.diff(ranked, append=np.nan) != 0)
    return np.cumsum(is_member[order], dtype=np.int64)[last], last + 1, ranked[last]
