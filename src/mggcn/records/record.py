"""RunRecord: what a run leaves behind, as JSON. Reports read records and nothing else; torch is not needed here."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from types import UnionType
from typing import Any, get_args, get_origin

MAY_DIVERGE = ("val_loss", "train_loss")
"""The figures that may be no finite number."""
_MOST = 1e300  # sums of such numbers are finite
_OF_DATASET = {
    "name": str,
    "path": str | None,
    "digest": str | None,
    "source": str | None,
    "num_nodes": int | None,
    "num_edges": int | None,
    "num_features": int | None,
    "classes": list[str] | None,
    "split": list[int] | None,
}


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


def spaced(count: int, most: int) -> list[int]:
    """At most ``most`` of the numbers below ``count``, evenly spaced, the first and the last among them."""
    kept = min(count, most)
    return [round(number * (count - 1) / max(kept - 1, 1)) for number in range(kept)]


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
        method_version: see :attr:`mggcn.methods.Method.version`; 1 in records from before it was kept.
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
    method_version: int = 1
    test_ece: float | None = None
    test_ece_uncalibrated: float | None = None

    def to_json(self) -> str:
        """The record as indented JSON."""
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "RunRecord":
        """Read what :meth:`to_json` wrote; raises as :meth:`of` where it is something else."""
        return cls.of(json.loads(text))

    @classmethod
    def of(cls, values: dict[str, Any]) -> "RunRecord":
        """A record of values as JSON has them; raises ValueError, TypeError or KeyError where no run records such."""
        made = cls(**{**values, "curve": [Epoch(**epoch) for epoch in values["curve"]]})
        _check(made)
        for epoch in made.curve:
            _check(epoch)
        if "name" not in made.dataset:
            raise ValueError("field dataset has no name")
        for name, value in made.dataset.items():
            if not suits(_OF_DATASET.get(name, Any), value):
                raise ValueError(f"field dataset.{name} is {value!r}")
        if any(len(row) != len(made.test_confusion) for row in made.test_confusion):
            raise ValueError("field test_confusion is not a square")
        for name in ("dataset", "settings", "environment"):
            try:
                json.dumps(getattr(made, name), allow_nan=False)
            except ValueError:
                raise ValueError(f"field {name} holds a number that is not finite") from None
        return made

    def check_complete(self) -> None:
        """Raise ValueError where something is missing that it takes to score nodes and that reports do without."""
        for name in ("path", "digest", "num_features", "classes"):
            if name not in self.dataset:
                raise ValueError(f"field dataset has no {name}")
        if not (self.dataset["num_features"] or 0) > 0 or not self.dataset["classes"]:
            raise ValueError("field dataset has no features or no classes")
        if "scaling" not in self.settings:
            raise ValueError("field settings has no scaling")
        if not self.temperature > 0:
            raise ValueError(f"field temperature is {self.temperature!r}")


_FIELDS = {kind: fields(kind) for kind in (RunRecord, Epoch)}


def suits(kind: Any, value: object) -> bool:
    """Whether a value read from JSON is of a type, with all that it holds; numbers are finite and sums of them are."""
    if kind is float or kind is int:
        return isinstance(value, int | kind) and not isinstance(value, bool) and abs(value) < _MOST
    if isinstance(kind, UnionType):
        return any(suits(each, value) for each in get_args(kind))
    held, origin = get_args(kind), get_origin(kind)
    if origin in (list, tuple):
        return isinstance(value, origin) and all(suits(held[0], each) for each in value)
    if origin in (dict, Mapping):
        return isinstance(value, origin) and all(suits(held[1], each) for each in value.values())
    return kind is Any or isinstance(value, kind)


def _check(part: RunRecord | Epoch) -> None:
    """Refuse values of other types than the fields have."""
    for field in _FIELDS[type(part)]:
        value = getattr(part, field.name)
        diverged = field.name in MAY_DIVERGE and isinstance(value, float)
        if not (diverged or suits(field.type, value)):
            where = f"epoch {part.number}: " if isinstance(part, Epoch) else ""
            raise ValueError(f"{where}field {field.name} is {value!r}")
