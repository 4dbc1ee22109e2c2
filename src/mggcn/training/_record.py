"""RunRecord: what a run leaves behind, as JSON. Reports read records and nothing else; torch is not needed here."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any, Required, TypedDict

from msgspec import Meta

from mggcn._io.files import typed
from mggcn.data import Column, feature_names
from mggcn.graph import Direction
from mggcn.training._ranking_record import Ranking

MAY_DIVERGE = ("val_loss", "train_loss")
"""The fields that may be infinite or not a number."""

Finite = Annotated[float, Meta(gt=-1e300, lt=1e300)]  # sums of such numbers are finite, too
Count = Annotated[int, Meta(ge=-(2**62), le=2**62)]


@dataclass(frozen=True)
class Epoch:
    """One epoch of training."""

    number: Count
    train_loss: float
    val_loss: float
    val_accuracy: Finite
    train_seconds: Finite
    eval_seconds: Finite


def seconds_until(number: int, prepare_seconds: float, curve: Sequence[Epoch]) -> float:
    """The seconds from the start of a run to the end of an epoch's validation."""
    spent = [epoch.train_seconds + epoch.eval_seconds for epoch in curve if epoch.number <= number]
    return prepare_seconds + sum(spent)


def near_best(curve: Sequence[Epoch]) -> int:
    """The first epoch that reaches 99 % of the best validation accuracy; 0 without epochs."""
    best = max((epoch.val_accuracy for epoch in curve), default=0.0)
    return next((epoch.number for epoch in curve if epoch.val_accuracy >= 0.99 * best), 0)


def spaced(count: int, most: int) -> list[int]:
    """At most ``most`` of the numbers below ``count``, evenly spaced, including the first and the last."""
    kept = min(count, most)
    return [round(number * (count - 1) / max(kept - 1, 1)) for number in range(kept)]


class _Data(TypedDict, total=False):
    """The fields of a record's data set that reports read."""

    name: Required[str]
    path: str | None
    digest: str | None
    digest_without_split: str | None
    source: str | None
    num_nodes: Count | None
    num_edges: Count | None
    num_features: Count | None
    feature_names: list[str] | None
    encoding: list[Column]
    classes: list[str] | None
    split: list[Count] | None
    direction: Direction
    notes: list[str]


@dataclass(frozen=True)
class RunRecord:
    """One training run.

    Attributes:
        dataset: name, digests with and without the split, source, path and counts of the data, the direction of a
            directed graph, and names of features and notes if there are any.
        method: its name.
        seed: the seed of weights, order and picks.
        settings: every setting, resolved.
        device: ``cpu`` or ``cuda``.
        epochs: the number of epochs.
        best_epoch: the epoch whose weights were kept.
        val_loss: at that epoch, as are the accuracy and macro-F1.
        test_confusion: the number of test nodes of each true class (row) and predicted class (column).
        epoch_seconds: median time of a training epoch, sampling included, evaluation not.
        prepare_seconds: time for scaling, neighbour means and running sums.
        seconds_to_best: from the start to the best epoch's validation: preparing, and all epochs up to that one.
        seconds_to_near_best: the same up to the first epoch with 99 % of the best validation accuracy.
        total_seconds: time for preparing, training and testing.
        peak_memory_bytes: the process's largest resident size during the run (interpreter, libraries and data set
            included), or the largest sum of tensors on the GPU.
        split_seed: the seed of a random split; None for a split that came with the data.
        training_memory_bytes: the same during the first epoch of training, before anything is evaluated; None if
            nothing is trained, and in older records.
        nodes_per_batch: mean number of distinct nodes whose rows a training batch reads; 0 if nothing is trained.
        curve: every epoch.
        environment: versions, machine and commit.
        temperature: fitted on the validation nodes, with one draw; scores divided by it give calibrated
            probabilities. 1 if it does not lower the loss in cross-validation, and in older records.
        method_version: see :attr:`mggcn.methods.Method.version`; 1 in older records.
        test_ece: the expected calibration error of the calibrated probabilities on the test nodes; None in older
            records.
        test_ece_uncalibrated: the same before calibration.
        resumed: how often the run was interrupted and resumed from a checkpoint; its times are sums, except for
            ``prepare_seconds``, which is that of the last time.
        warm_start: the run whose weights this one started from: its folder, its data set and seed, and the
            sha256 of the weights; None for weights drawn at random.
        ranking: areas under curves, precision at k and thresholds of each class, with calibrated probabilities; None in
            older records.
    """

    dataset: dict[str, Any]
    method: str
    seed: Count
    settings: dict[str, Any]
    device: str
    epochs: Count
    best_epoch: Count
    val_loss: float
    val_accuracy: Finite
    val_macro_f1: Finite
    test_accuracy: Finite
    test_macro_f1: Finite
    test_confusion: list[list[Count]]
    epoch_seconds: Finite
    prepare_seconds: Finite
    seconds_to_best: Finite
    seconds_to_near_best: Finite
    total_seconds: Finite
    peak_memory_bytes: Count
    nodes_per_batch: Finite
    curve: list[Epoch]
    environment: dict[str, Any]
    temperature: Finite = 1.0
    method_version: Count = 1
    test_ece: Finite | None = None
    test_ece_uncalibrated: Finite | None = None
    training_memory_bytes: Count | None = None
    split_seed: Count | None = None
    resumed: Count = 0
    warm_start: dict[str, Any] | None = None
    ranking: Ranking | None = None

    @property
    def is_converged(self) -> bool:
        """Whether training went on after the best epoch without improvement; True if nothing is trained."""
        return self.epochs == 0 or self.best_epoch < self.epochs

    def to_json(self) -> str:
        """The record as indented JSON."""
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "RunRecord":
        """Read what :meth:`to_json` wrote; raises ValueError if it is not a record."""
        return cls.of(json.loads(text))

    @classmethod
    def of(cls, values: object) -> "RunRecord":
        """A record from parsed JSON; raises ValueError that names the field and its value."""
        record = typed(cls, values)
        unknown = set(values if isinstance(values, dict) else ()) - {field.name for field in fields(cls)}
        if unknown:
            raise ValueError(f"unknown field {min(unknown)}")
        typed(_DataField, {"dataset": record.dataset})
        if any(len(row) != len(record.test_confusion) for row in record.test_confusion):
            raise ValueError("field test_confusion is not a square")
        if record.ranking is not None:
            record.ranking.check(len(record.test_confusion))
        for name in ("dataset", "settings", "environment"):
            try:
                json.dumps(getattr(record, name), allow_nan=False)
            except ValueError:
                raise ValueError(f"field {name} holds a number that is not finite") from None
        return record

    def check_complete(self) -> None:
        """Raise ValueError if something is missing that scoring nodes needs and reports do not."""
        for name in ("path", "digest", "digest_without_split", "num_features", "classes"):
            if name not in self.dataset:
                raise ValueError(f"field dataset has no {name}")
        if self.dataset["num_features"] is None or self.dataset["num_features"] < 0:
            raise ValueError(f"field dataset has num_features {self.dataset['num_features']}")
        if not self.dataset["classes"]:
            raise ValueError("field dataset has no classes")
        names = self.dataset.get("feature_names") or ()
        if len(names) not in (0, self.dataset["num_features"]):
            raise ValueError(
                f"field dataset has {len(names)} feature_names for {self.dataset['num_features']} features"
            )
        encoding = typed(list[Column], self.dataset.get("encoding", []))
        if encoding and feature_names(encoding) != tuple(names):
            raise ValueError("field dataset has an encoding of other features than feature_names")
        if "scaling" not in self.settings:
            raise ValueError("field settings has no scaling")
        if not self.temperature > 0:
            raise ValueError(f"field temperature is {self.temperature!r}")


class _DataField(TypedDict):
    """Only the data set of a record, so that errors name the whole path of a field."""

    dataset: _Data
