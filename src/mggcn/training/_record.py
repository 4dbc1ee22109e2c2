"""RunRecord: what a run leaves behind, as JSON. Reports read records and nothing else; torch is not needed here."""

import base64
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Required, TypedDict

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from mggcn._io import regular
from mggcn._io.files import checksummed, parse_json, typed, without_checksum
from mggcn.data import ColumnEncoding, feature_names
from mggcn.errors import InputError
from mggcn.graph import Direction, EdgeSchema

RECORD, CONFIG, CHECKPOINT = "record.json", "config.toml", "checkpoint"
"""What the folder of a run holds; the record is written last, and then checkpoints are removed."""
MEMBERS = "members"
"""The folder of the other recipes in that of a run, if the mean of several was selected."""
MAY_DIVERGE = ("val_loss", "train_loss")
"""The fields that may be infinite or not a number."""

Finite = Annotated[float, Meta(gt=-1e300, lt=1e300)]  # sums of such numbers are finite, too
Whole = Annotated[int, Meta(ge=-(2**62), le=2**62)]
_Natural = Annotated[int, Meta(ge=0, le=2**62)]
_Share = Annotated[float, Meta(ge=0, le=1)]


@dataclass(frozen=True)
class Epoch:
    """One epoch of training."""

    number: Whole
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


def packed_bits(values: NDArray[np.bool_]) -> str:
    """One bit for each value, the first in the highest bit of the first byte, as base64."""
    return base64.b64encode(np.packbits(values).tobytes()).decode()


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

    required: _Share
    thresholds: list[_Share | None]
    val: list[_Natural]
    test: list[_Natural]
    correct: list[_Natural]


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

    pr_auc: list[_Share | None]
    roc_auc: list[_Share | None]
    ks: list[_Natural]
    precision_at: list[list[_Share]]
    alerts: list[Alerts]

    def check(self, classes: int) -> None:
        """Raise ValueError unless every list has an entry for each of the classes."""
        lists = [(name, getattr(self, name)) for name in ("pr_auc", "roc_auc", "precision_at")]
        for one in self.alerts:
            lists += [(f"alerts.{name}", getattr(one, name)) for name in ("thresholds", "val", "test", "correct")]
        for name, values in lists:
            if len(values) != classes:
                raise ValueError(f"field ranking.{name} has {len(values)} entries for {classes} classes")
        if any(len(precisions) != len(self.ks) for precisions in self.precision_at):
            raise ValueError("field ranking.precision_at has other lengths than ks")


@dataclass(frozen=True)
class Member:
    """A recipe of a portfolio; its losses decide which recipes are selected.

    Attributes:
        settings: the settings in which the recipes differ, with their values in this one.
        val_loss: of calibrated probabilities, means over the draws, on the validation nodes.
        val_accuracy: of the same.
        epochs: the number of epochs.
        best_epoch: the epoch whose weights were kept.
        seconds: time for preparing and training.
        stopped: whether training was stopped early, because it was behind.
        selected: whether the run's probabilities are those of this recipe, or the mean of these and others.
    """

    settings: dict[str, Any]
    val_loss: Finite
    val_accuracy: Finite
    epochs: Whole
    best_epoch: Whole
    seconds: Finite
    stopped: bool
    selected: bool


def best_recipe(members: Sequence[Member]) -> dict[str, Any]:
    """The settings of the selected recipe of the lowest validation loss; empty if none is selected."""
    selected = [member for member in members if member.selected]
    return min(selected, key=lambda member: member.val_loss).settings if selected else {}


def recipe_words(settings: Mapping[str, Any], first: Mapping[str, Any]) -> str:
    """The settings of a portfolio's recipe that differ from those of its first, as the command line takes them."""
    words = (
        f"{name}={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in settings.items()
        if value != first.get(name)
    )
    return " ".join(words) or "the method's recipe"


def mean(values: Iterable[float | None]) -> float | None:
    """The mean over the classes that have a value; None if none has."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


class _Data(TypedDict, total=False):
    """The fields of a record's data set that reports read."""

    name: Required[str]
    path: str | None
    digest: str | None
    digest_without_split: str | None
    source: str | None
    num_nodes: Whole | None
    num_edges: Whole | None
    num_features: Whole | None
    feature_names: list[str] | None
    encoding: list[ColumnEncoding]
    classes: list[str] | None
    split: list[Whole] | None
    direction: Direction
    edges: EdgeSchema
    notes: list[str]


@dataclass(frozen=True)
class RunRecord:
    """One training run.

    Attributes:
        dataset: name, digests with and without the split, source, path and counts of the data, the direction of a
            directed graph, what is known of edges, and names of features and notes if there are any.
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
            nothing is trained.
        nodes_per_batch: mean number of distinct nodes whose rows a training batch reads; 0 if nothing is trained.
        curve: every epoch.
        environment: versions, machine and commit.
        temperature: fitted on the validation nodes, with one draw; scores divided by it give calibrated
            probabilities. 1 if it does not lower the loss in cross-validation.
        method_version: see :attr:`mggcn.methods.Method.version`.
        test_ece: the expected calibration error of the calibrated probabilities on the test nodes.
        test_ece_uncalibrated: the same before calibration.
        resumed: how often the run was interrupted and resumed from a checkpoint; its times are sums, except for
            ``prepare_seconds``, which is that of the last time.
        warm_start: the run whose weights this one started from: its folder, its data set and seed, and the
            sha256 of the weights; None for weights drawn at random.
        ranking: areas under curves, precision at k and thresholds of each class, with calibrated probabilities.
        test_right: which test nodes were predicted correctly, in the order of the split, see :func:`packed_bits`; None
            in older records.
        portfolio: the recipes that were trained, of which the best or a mean was selected; None if one was trained.
            Settings, epochs and their times are then those of the best recipe; ``seconds_to_best``, ``total_seconds``
            and the memory are of all. Test metrics are of what was selected; of a mean so are the loss, the accuracy
            and the macro-F1 on the validation nodes.
    """

    dataset: dict[str, Any]
    method: str
    seed: Whole
    settings: dict[str, Any]
    device: str
    epochs: Whole
    best_epoch: Whole
    val_loss: float
    val_accuracy: Finite
    val_macro_f1: Finite
    test_accuracy: Finite
    test_macro_f1: Finite
    test_confusion: list[list[Whole]]
    epoch_seconds: Finite
    prepare_seconds: Finite
    seconds_to_best: Finite
    seconds_to_near_best: Finite
    total_seconds: Finite
    peak_memory_bytes: Whole
    nodes_per_batch: Finite
    curve: list[Epoch]
    environment: dict[str, Any]
    temperature: Finite = 1.0
    method_version: Whole = 1
    test_ece: Finite | None = None
    test_ece_uncalibrated: Finite | None = None
    training_memory_bytes: Whole | None = None
    split_seed: Whole | None = None
    resumed: Whole = 0
    warm_start: dict[str, Any] | None = None
    ranking: Ranking | None = None
    test_right: str | None = None
    portfolio: list[Member] | None = None

    @property
    def right(self) -> NDArray[np.bool_] | None:
        """[test nodes] whether each was predicted correctly; None if that is not recorded."""
        if self.test_right is None:
            return None
        packed = np.frombuffer(base64.b64decode(self.test_right, validate=True), np.uint8)
        return np.unpackbits(packed, count=sum(map(sum, self.test_confusion))).astype(np.bool_)

    @property
    def recipe_settings(self) -> dict[str, Any]:
        """The settings that the run was asked for: of a portfolio, those of its first recipe, which all seeds share."""
        if self.portfolio is None:
            return self.settings
        return {**self.settings, **self.portfolio[0].settings, "portfolio": "auto"}

    @property
    def is_converged(self) -> bool:
        """Whether training went on after the best epoch without improvement; True if nothing is trained."""
        return self.epochs == 0 or self.best_epoch < self.epochs

    @property
    def edges(self) -> EdgeSchema:
        """What was known of each edge of the graph that the model was trained on."""
        return typed(EdgeSchema, self.dataset.get("edges", {}))

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
        record.check_right()
        if record.portfolio is not None:
            record.check_portfolio(record.portfolio)
        for name in ("dataset", "settings", "environment"):
            try:
                json.dumps(getattr(record, name), allow_nan=False)
            except ValueError:
                raise ValueError(f"field {name} holds a number that is not finite") from None
        return record

    def check_right(self) -> None:
        """Raise ValueError unless ``test_right`` holds what ``test_confusion`` counts."""
        if self.test_right is None:
            return
        try:
            size = len(base64.b64decode(self.test_right, validate=True))
        except ValueError as error:
            raise ValueError(f"field test_right: {error}") from None
        nodes, hits = (
            sum(map(sum, self.test_confusion)),
            sum(row[label] for label, row in enumerate(self.test_confusion)),
        )
        if size != -(-nodes // 8):
            raise ValueError(f"field test_right has {size:,} bytes for {nodes:,} test nodes")
        right = self.right
        if right is None or packed_bits(right) != self.test_right:
            raise ValueError(f"field test_right has bits beyond {nodes:,} test nodes")
        if (found := int(right.sum())) != hits:
            raise ValueError(f"field test_right has {found:,} right nodes, but test_confusion {hits:,}")

    def check_portfolio(self, members: Sequence[Member]) -> None:
        """Raise ValueError unless these can be the recipes of this run's portfolio."""
        selected = [member for member in members if member.selected]
        if not selected or len(members) < 2:
            raise ValueError(f"field portfolio has {len(members)} recipes, of which {len(selected)} are selected")
        if any(member.settings.keys() != members[0].settings.keys() for member in members):
            raise ValueError("field portfolio has recipes with other settings than the first")
        for name, value in best_recipe(members).items():
            of_run = self.settings.get(name)
            is_close = (
                isinstance(value, float) and isinstance(of_run, float) and math.isclose(value, of_run, rel_tol=1e-5)
            )
            if of_run != value and not is_close:  # reports keep six digits
                raise ValueError(f"field portfolio has {name} {value!r} in its best recipe, not that of the settings")

    def check_complete(self) -> None:
        """Raise ValueError if something is missing that scoring nodes needs and reports do not."""
        typed(_Complete, {name: getattr(self, name) for name in _Complete.__annotations__})
        names, width = self.dataset.get("feature_names") or (), self.dataset["num_features"]
        if len(names) not in (0, width):
            raise ValueError(f"field dataset has {len(names)} feature_names for {width} features")
        encoding = typed(list[ColumnEncoding], self.dataset.get("encoding", []))
        if encoding and feature_names(encoding) != tuple(names):
            raise ValueError("field dataset has an encoding of other features than feature_names")


class _DataField(TypedDict):
    """Only the data set of a record, so that errors name the whole path of a field."""

    dataset: _Data


class _CompleteData(TypedDict):
    path: str | None
    digest: str | None
    digest_without_split: str | None
    num_features: _Natural
    classes: Annotated[list[str], Meta(min_length=1)]


class _Scaling(TypedDict):
    scaling: str


class _Complete(TypedDict):
    """What scoring nodes needs of a record."""

    dataset: _CompleteData
    settings: _Scaling
    temperature: Annotated[float, Meta(gt=0)]


class _Checksums(TypedDict):
    """What a record.json holds beside the record."""

    files: dict[str, str]


def is_unfinished(folder: Path) -> bool:
    """Whether a folder is that of a run which is still being trained or was interrupted."""
    return (folder / CONFIG).is_file() and (folder / CHECKPOINT).is_dir() and not (folder / RECORD).exists()


def unfinished(folder: Path) -> str:
    """The problem with the folder of a run that is not finished."""
    return f"{folder}: a run that is not finished; mggcn.resume({str(folder)!r}) continues it"


def record_content(record: RunRecord, files: Mapping[str, bytes]) -> bytes:
    """The content of a ``record.json``, with its checksum and those of the files beside it."""
    checksums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return checksummed(json.dumps({"files": checksums, **asdict(record)}, indent=2) + "\n")


def read_record(path: Path) -> tuple[RunRecord, dict[str, str]]:
    """A ``record.json``, and the checksums of the files beside it."""
    try:
        return parse_record(parse_json(without_checksum(regular.read(path))))
    except ValueError as error:
        raise InputError(f"{path}: not a run record ({error})") from None


def parse_record(values: Any) -> tuple[RunRecord, dict[str, str]]:
    """A parsed ``record.json`` as a record, and the checksums of the files beside it."""
    checksums = typed(_Checksums, values)["files"]
    return RunRecord.of({name: value for name, value in values.items() if name != "files"}), checksums
