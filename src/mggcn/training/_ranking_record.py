"""How well probabilities rank nodes: the part of a record that has a figure for each class."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

Share = Annotated[float, Meta(ge=0, le=1)]
Number = Annotated[int, Meta(ge=0, le=2**62)]


@dataclass(frozen=True)
class Alerts:
    """Thresholds for a required precision, and what they give; each list has an entry for each class.

    A node is an alert for a class if its probability of the class is at least the threshold.

    Attributes:
        required: the precision that is required of validation nodes.
        thresholds: the lowest with that precision on the validation nodes; None if none has it.
        val: the number of alerts among the validation nodes.
        test: the number of alerts among the test nodes.
        correct: the number of those that belong to the class.
    """

    required: Share
    thresholds: list[Share | None]
    val: list[Number]
    test: list[Number]
    correct: list[Number]


@dataclass(frozen=True)
class Ranking:
    """Metrics of ranking the test nodes by the probability of a class; each list has an entry for each class.

    Attributes:
        pr_auc: the area under the curve of precision and recall, as average precision; None without nodes of the class.
        roc_auc: the area under the ROC curve; None if all test nodes belong to the class, or none does.
        ks: the numbers of nodes at which the precision is measured, ascending.
        precision_at: for each class, the precision among the first k nodes, for each of ``ks``; among nodes with equal
            probabilities it is the mean over their orders.
        alerts: for each required precision.
    """

    pr_auc: list[Share | None]
    roc_auc: list[Share | None]
    ks: list[Number]
    precision_at: list[list[Share]]
    alerts: list[Alerts]

    def check(self, classes: int) -> None:
        """Raise ValueError unless every list has an entry for each of the classes."""
        lists: list[tuple[str, list[object]]] = [
            ("pr_auc", [*self.pr_auc]),
            ("roc_auc", [*self.roc_auc]),
            ("precision_at", [*self.precision_at]),
        ]
        lists += [
            (f"alerts.{name}", getattr(one, name))
            for one in self.alerts
            for name in ("thresholds", "val", "test", "correct")
        ]
        for name, values in lists:
            if len(values) != classes:
                raise ValueError(f"field ranking.{name} has {len(values)} entries for {classes} classes")
        if any(len(precisions) != len(self.ks) for precisions in self.precision_at):
            raise ValueError("field ranking.precision_at has other lengths than ks")


def mean(values: Iterable[float | None]) -> float | None:
    """The mean over the classes that have a value; None if none has."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
