"""Metrics of ranking nodes by the probability of a class, for lists that somebody works through from the top.

Accuracy says little if one node in ten thousand belongs to the class. The area under the curve of precision and recall,
the precision among the first k nodes, and the threshold for a required precision say how many alerts are correct.
"""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mggcn.training._ranking_record import Alerts, Ranking

REQUIRED = (0.8, 0.9, 0.95, 0.99)
"""The precisions for which a record has thresholds."""

Probabilities = NDArray[np.float64]
Members = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Ranked:
    """Nodes ranked by the probability of a class, as counts at each distinct probability, the highest first.

    Attributes:
        hits: [m] the members of the class with at least that probability.
        counts: [m] the nodes with at least that probability.
        values: [m] the probability.
    """

    hits: NDArray[np.int64]
    counts: NDArray[np.int64]
    values: Probabilities

    @classmethod
    def of(cls, p: Probabilities, is_member: Members) -> "Ranked":
        """Rank nodes.

        Args:
            p: [n] probabilities of a class.
            is_member: [n] whether a node belongs to it.
        """
        order = np.argsort(-p)
        ranked = p[order]
        last = np.flatnonzero(np.diff(ranked, append=np.nan) != 0)
        return cls(np.cumsum(is_member[order], dtype=np.int64)[last], last + 1, ranked[last])

    def pr_auc(self) -> float | None:
        """The average precision: the sum over distinct probabilities of the precision times the increase of recall.

        None if no node is a member.
        """
        if not self.hits.size or not self.hits[-1]:
            return None
        return min(float((self.hits / self.counts * np.diff(self.hits, prepend=0)).sum() / self.hits[-1]), 1.0)

    def roc_auc(self) -> float | None:
        """The area under the ROC curve: the share of pairs of a member and another node in which the member is first.

        Pairs with equal probabilities count half. None if all nodes are members, or none is.
        """
        hits, counts = self.hits, self.counts
        if not hits.size or not 0 < hits[-1] < counts[-1]:
            return None
        recall, false_positives = (np.concatenate([[0], values / values[-1]]) for values in (hits, counts - hits))
        return min(float(np.trapezoid(recall, false_positives)), 1.0)

    def precision_at(self, ks: NDArray[np.int64]) -> NDArray[np.float64]:
        """The precision among the first k nodes, for each k; among equal probabilities the mean over their orders."""
        shares = np.interp(ks, np.concatenate([[0], self.counts]), np.concatenate([[0], self.hits])) / ks
        return np.asarray(np.minimum(shares, 1.0))

    def threshold_for(self, required: float) -> float | None:
        """The lowest probability p such that nodes with at least p have the required precision; None if none does."""
        reached = np.flatnonzero(self.hits >= required * self.counts)
        return min(float(self.values[reached[-1]]), 1.0) if reached.size else None

    def reaching(self, bound: float | None) -> tuple[int, int]:
        """How many nodes have at least a probability, and how many of them are members; zero for None."""
        above = 0 if bound is None else int(np.searchsorted(-self.values, -bound, side="right"))
        return (int(self.counts[above - 1]), int(self.hits[above - 1])) if above else (0, 0)


def ks_of(count: int) -> NDArray[np.int64]:
    """1, 2, 5, 10, 20, 50 and so on, up to the number of nodes."""
    numbers = (digit * 10**power for power in itertools.count() for digit in (1, 2, 5))
    return np.array(list(itertools.takewhile(lambda number: number <= count, numbers)), np.int64)


def measure(val: Probabilities, val_y: NDArray[np.int64], test: Probabilities, test_y: NDArray[np.int64]) -> Ranking:
    """The ranking of the test nodes, with thresholds chosen on the validation nodes.

    Args:
        val: [n, classes] probabilities of the validation nodes.
        val_y: [n] their classes.
        test: [m, classes] probabilities of the test nodes.
        test_y: [m] their classes.
    """
    chosen_on, ranked = _by_class(val, val_y), _by_class(test, test_y)
    ks = ks_of(test_y.size)
    return Ranking(
        [of_class.pr_auc() for of_class in ranked],
        [of_class.roc_auc() for of_class in ranked],
        ks.tolist(),
        [of_class.precision_at(ks).tolist() for of_class in ranked],
        [_alerts(required, chosen_on, ranked) for required in REQUIRED],
    )


def _by_class(p: Probabilities, y: NDArray[np.int64]) -> list[Ranked]:
    return [Ranked.of(p[:, label], y == label) for label in range(p.shape[1])]


def _alerts(required: float, val: list[Ranked], test: list[Ranked]) -> Alerts:
    """The threshold of each class for a required precision of validation nodes, and the alerts it gives."""
    thresholds = [of_class.threshold_for(required) for of_class in val]
    in_val = [of_class.reaching(bound) for of_class, bound in zip(val, thresholds, strict=True)]
    in_test = [of_class.reaching(bound) for of_class, bound in zip(test, thresholds, strict=True)]
    return Alerts(
        required,
        thresholds,
        [nodes for nodes, _ in in_val],
        [nodes for nodes, _ in in_test],
        [members for _, members in in_test],
    )
