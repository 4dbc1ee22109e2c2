"""What known labels say of predictions: metrics, thresholds for alerts, and whether they hold for a new graph."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray

from mggcn import methods
from mggcn.data import BACKGROUND, Dataset
from mggcn.errors import InputError, InputWarning
from mggcn.runs._matching import NEW, TEST, TRAIN, VAL, labels_in, match_features, parts_of
from mggcn.runs._predictions import Predictions
from mggcn.training import Ranked, Tally, Top

if TYPE_CHECKING:
    from mggcn.runs._run import Run

_AT_ONCE = 1 << 17
_UNLIKE = 0.8  # the area under the ROC curve from which on labelled nodes do not resemble the graph
_FEWEST, _MOST = 50, 2_000  # nodes of each kind that are compared
_TREES, _LEAF = 100, 5


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The lowest probability of each class that has the required precision on the validation nodes.

    It is NaN if none has it, and for the class Background, which needs no alert. Of each class, ``reached`` and
    ``members`` are the numbers of validation nodes that reach the threshold and that belong to it.
    """

    required: float
    classes: tuple[str, ...]
    values: NDArray[np.float64]
    reached: NDArray[np.int64]
    members: NDArray[np.int64]

    @classmethod
    def of(cls, required: float, validated: Predictions) -> "Thresholds":
        """Choose the thresholds by predictions of validation nodes."""
        p, classes = validated.probabilities, validated.classes
        values, labels = np.full(len(classes), np.nan), labels_in(validated.dataset, classes, validated.nodes)
        for label, name in enumerate(classes):
            bound = Ranked(p[:, label], labels == label).threshold_for(required)
            if bound is not None and name != BACKGROUND:
                values[label] = bound
        return cls(required, classes, values, (p >= values).sum(axis=0), np.bincount(labels, minlength=len(classes)))

    def alerts(self, probabilities: NDArray[np.float64]) -> NDArray[np.str_]:
        """[n] the most probable of the classes that a node is an alert for; empty if it is none."""
        reached = probabilities >= self.values
        best = np.where(reached, probabilities, -1).argmax(axis=1)
        return np.where(reached.any(axis=1), np.array(self.classes)[best], "")


def validation_nodes(runs: "Sequence[Run]", data: Dataset, required: float) -> tuple[Dataset, NDArray[np.int64]]:
    """The training data of runs, which ``data`` may be, and its labelled nodes that all of them validated on."""
    if not 0 < required <= 1:
        raise InputError(f"at_precision: {required:g} is not a share above 0 and at most 1")
    if not runs[0].is_trained_on(data):
        try:
            data = runs[0].training_data
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


@dataclass(frozen=True, eq=False)
class Assessment:
    """Metrics of predictions where labels are known.

    In the graph that the runs were trained on, the test nodes count; in another one the runs' test nodes and new nodes.
    Nodes do not count whose labels are read to score others.
    """

    predictions: Predictions

    @cached_property
    def is_own(self) -> bool:
        """Whether the graph is one that the runs were trained on."""
        return any(run.is_trained_on(self.predictions.dataset) for run in self.predictions.runs)

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """[n] known labels as indices of the runs' classes; -1 for unknown ones and for other classes."""
        return labels_in(self.predictions.dataset, self.predictions.classes, self.predictions.nodes)

    @property
    def readers(self) -> list[str]:
        """The methods that read labels of the graph."""
        return [run.record.method for run in self.predictions.runs if run.plan.method.reads_labels]

    @cached_property
    def is_read(self) -> NDArray[np.bool_]:
        """[n] whether the label of a node is read to score others."""
        if not self.readers:
            return np.zeros(self.predictions.nodes.size, bool)
        return np.asarray(methods.known_labels(self.predictions.dataset)[self.predictions.nodes] >= 0)

    @property
    def is_training(self) -> NDArray[np.bool_]:
        """[n] whether a node is of the training part, or its label is read."""
        return np.asarray((self.predictions.part_index == TRAIN) | self.is_read)

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """[n] whether a node counts in metrics."""
        parts = (TEST,) if self.is_own else (TEST, NEW)
        return np.asarray((self.labels >= 0) & ~self.is_read & np.isin(self.predictions.part_index, parts))

    @property
    def fitted(self) -> tuple[int, int]:
        """The numbers of training and of validation nodes with a known label that nothing reads."""
        is_known = (self.labels >= 0) & ~self.is_read
        train, val = (int((is_known & (self.predictions.part_index == part)).sum()) for part in (TRAIN, VAL))
        return train, val

    @property
    def num_unknown(self) -> int:
        """The number of nodes whose label is of no class of the runs."""
        return int(((self.predictions.dataset.y[self.predictions.nodes] >= 0) & (self.labels < 0)).sum())

    def tallies(self) -> Iterator[tuple[str, Tally]]:
        """The metrics of the nodes of each part that count, for ``test`` and ``new``."""
        for name, part in (("test", TEST), ("new", NEW)):
            tally = Tally(len(self.predictions.classes))
            rows = np.flatnonzero(self.counted & (self.predictions.part_index == part))
            for start in range(0, rows.size, _AT_ONCE):
                chunk = rows[start : start + _AT_ONCE]
                p = self.predictions.probabilities[chunk]
                log_p = torch.from_numpy(np.log(np.maximum(p, np.finfo(np.float64).tiny)))
                tally.add(log_p, torch.from_numpy(self.labels[chunk]), p)
            if rows.size:
                yield name, tally

    def top(self, label: int, k: int, among: NDArray[np.bool_] | None = None) -> Top:
        """The rows with the highest probability of a class, among all or some nodes, and their precision."""
        rows = np.arange(self.labels.size) if among is None else np.flatnonzero(among)
        top = Top.of(k, self.predictions.probabilities[rows, label], self.labels[rows], label)
        return Top(rows[top.indices], top.known, top.correct)

    def ranked(self, label: int) -> Ranked:
        """How well the probabilities of a class rank the nodes that count."""
        p, y = self.predictions.probabilities[self.counted, label], self.labels[self.counted]
        return Ranked(p, y == label)

    def alerts(self) -> NDArray[np.int64]:
        """[classes, 4] the alerts among the nodes that count, those of the class, its nodes, and other alerts."""
        predictions, counts = self.predictions, np.zeros((len(self.predictions.classes), 4), np.int64)
        if (thresholds := predictions.thresholds) is None:
            return counts
        is_other = ~self.counted & ~self.is_training & (predictions.part_index != VAL)
        for label in range(len(counts)):
            reached = predictions.probabilities[:, label] >= thresholds.values[label]
            is_member = self.counted & (self.labels == label)
            kinds = (reached & self.counted, reached & is_member, is_member, reached & is_other)
            counts[label] = [kind.sum() for kind in kinds]
        return counts


def separability(run: "Run", data: Dataset) -> float | None:
    """How well a classifier tells the nodes that a run was fitted to from others: a two-sample test on the features.

    It is the area under the ROC curve of a random forest, out of bag: near 0.5 if they are alike, and near 1 if the
    nodes that were fitted, those of the class Background among them, are a special kind; probabilities that were
    calibrated on them then say nothing about the others. None without features, with too few nodes of a kind, or if the
    training data is not available.
    """
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import roc_auc_score

    if not data.num_features:
        return None
    try:
        trained = data if run.is_trained_on(data) else run.training_data
    except (InputError, OSError):
        return None
    rng = np.random.default_rng(run.record.seed)
    labelled = np.flatnonzero(parts_of([run], trained, np.arange(trained.num_nodes)) != NEW)
    others = rng.choice(data.num_nodes, min(4 * _MOST, data.num_nodes), replace=False)
    others = others[parts_of([run], data, others) == NEW]
    size = min(labelled.size, others.size, _MOST)
    if size < _FEWEST:
        return None
    with warnings.catch_warnings(action="ignore", category=InputWarning):  # the prediction has given them
        rows = [
            match_features(dataset, run.record.dataset).x[np.sort(nodes)]
            for dataset, nodes in ((trained, rng.permutation(labelled)[:size]), (data, others[:size]))
        ]
    x = np.concatenate(rows) if isinstance(rows[0], np.ndarray) else scipy.sparse.vstack(rows).tocsr()
    is_labelled = np.repeat([1, 0], size)
    forest = RandomForestClassifier(_TREES, min_samples_leaf=_LEAF, oob_score=True, random_state=0).fit(x, is_labelled)
    return float(roc_auc_score(is_labelled, forest.oob_decision_function_[:, 1]))


def unlike(runs: "Sequence[Run]", data: Dataset) -> str | None:
    """What to say of a graph that the nodes that runs were fitted to do not resemble; None if they do."""
    separable = max((separability(run, data) or 0.0 for run in runs), default=0.0)
    if separable < _UNLIKE:
        return None
    fitted, advice = "labelled nodes", "see background in mggcn.ethereum.build" if data.id_name == "address" else ""
    if BACKGROUND in runs[0].classes:
        fitted, advice = f"labelled nodes and those of {BACKGROUND}", "precision is that of test nodes only"
    return (
        f"{data.name}: the {fitted} do not resemble the others (a classifier tells them apart with ROC-AUC "
        f"{separable:.2f}), so classes and probabilities of other nodes are not reliable"
    ) + (f"; {advice}" if advice else "")
