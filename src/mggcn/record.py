"""RunRecord: what a run leaves behind, as JSON. Reports read records and nothing else; torch is not needed here."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Epoch:
    """One epoch of training."""

    number: int
    train_loss: float
    val_loss: float
    val_accuracy: float
    train_seconds: float
    eval_seconds: float


def seconds_until(number: int, prepare_seconds: float, curve: Sequence[Epoch]) -> float:
    """From the start of a run to the end of an epoch's validation."""
    spent = [epoch.train_seconds + epoch.eval_seconds for epoch in curve if epoch.number <= number]
    return prepare_seconds + sum(spent)


def near_best(curve: Sequence[Epoch]) -> int:
    """The first epoch with 99 % of the best validation accuracy of any; 0 where there is none."""
    best = max((epoch.val_accuracy for epoch in curve), default=0.0)
    return next((epoch.number for epoch in curve if epoch.val_accuracy >= 0.99 * best), 0)


@dataclass(frozen=True)
class RunRecord:
    """One training run.

    Attributes:
        dataset: name, digest, source, path and counts of the data.
        method: its name.
        seed: the run's.
        settings: every setting, resolved.
        device: what it ran on.
        epochs: how many were run.
        best_epoch: the one whose weights were kept.
        val_loss: at that epoch, as are the accuracy and macro-F1.
        test_confusion: how many test nodes of each class (a row) were given each class (a column).
        epoch_seconds: median time of a training epoch, sampling included, evaluation not.
        prepare_seconds: for scaling, neighbour means and running sums.
        seconds_to_best: from the start to the best epoch's validation: preparing, and all epochs up to that one.
        seconds_to_near_best: the same up to the first epoch with 99 % of the best validation accuracy of any epoch.
        total_seconds: of preparing, training and testing.
        peak_memory_bytes: the process's largest resident size during the run (interpreter, libraries and data set
            included), or the largest sum of tensors on the GPU.
        nodes_per_batch: the distinct nodes whose rows a training batch reads, on average; 0 where nothing is trained.
        curve: every epoch.
        environment: versions, machine and commit.
        temperature: what scores are divided by so that probabilities are calibrated, fitted on the validation nodes; 1
            in records from before there was one.
        test_ece: the expected calibration error of the calibrated probabilities on the test nodes; None in records
            from before it was measured, as is the next.
        test_ece_uncalibrated: the same of the probabilities as the model gives them.
    """

    dataset: dict[str, Any]
    method: str
    seed: int
    settings: dict[str, Any]
    device: str
    epochs: int
    best_epoch: int
    val_loss: float
    val_accuracy: float
    val_macro_f1: float
    test_accuracy: float
    test_macro_f1: float
    test_confusion: list[list[int]]
    epoch_seconds: float
    prepare_seconds: float
    seconds_to_best: float
    seconds_to_near_best: float
    total_seconds: float
    peak_memory_bytes: int
    nodes_per_batch: float
    curve: list[Epoch]
    environment: dict[str, Any]
    temperature: float = 1.0
    test_ece: float | None = None
    test_ece_uncalibrated: float | None = None

    def to_json(self) -> str:
        """The record as indented JSON."""
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "RunRecord":
        """Read what :meth:`to_json` wrote; raises ValueError, TypeError or KeyError where it is something else."""
        return cls.of(json.loads(text))

    @classmethod
    def of(cls, fields: dict[str, Any]) -> "RunRecord":
        """A record of fields as JSON has them; raises TypeError or KeyError where they are something else."""
        return cls(**{**fields, "curve": [Epoch(**epoch) for epoch in fields["curve"]]})
