"""What ``mggcn predict`` prints of its predictions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from mggcn import methods
from mggcn.cli.table import aligned
from mggcn.dataset import BACKGROUND, UNLABELLED, Dataset
from mggcn.run import Predictions, Run
from mggcn.run.alerts import Thresholds
from mggcn.run.labels import labels_in
from mggcn.train import metrics, ranking
from mggcn.train.metrics import Top

_NODES = {"test": "test nodes", "new": "new nodes with a known label", "unknown": "nodes with a known label"}


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predictions with what is known of their nodes.

    Attributes:
        predictions: of all selected nodes.
        labels: [n] known classes as indices of the run's, else -1.
        is_training: [n] whether a run was trained on a node, or reads its label.
        is_counted: [n] whether a node counts in metrics.
        is_own: whether the graph is that of a run's training data.
        notes: lines on nodes that do not count.
    """

    predictions: Predictions
    labels: NDArray[np.int64]
    is_training: NDArray[np.bool_]
    is_counted: NDArray[np.bool_]
    is_own: bool
    notes: tuple[str, ...]

    @classmethod
    def of(cls, runs: Sequence[Run], data: Dataset, predictions: Predictions, *, smooth: bool) -> "Predicted":
        """Look up what the runs used the nodes for, and which of their labels are known."""
        nodes, parts, notes = predictions.nodes, predictions.parts, []
        labels = labels_in(data, runs[0].classes)[nodes]
        num_unknown = int(((data.y[nodes] >= 0) & (labels < 0)).sum())
        if num_unknown:
            names = ", ".join(name for name in data.classes if name not in runs[0].classes)
            notes.append(f"{num_unknown:,} nodes have a label that the run does not have and are not counted: {names}")
        is_own = any(run.is_trained_on(data) for run in runs)
        is_training, is_labelled = parts == "train", labels >= 0
        readers = [run.record.method for run in runs if run.plan.method.reads_labels] + ["--smooth"] * smooth
        if readers:
            is_read = methods.known_labels(data)[nodes] >= 0
            if not is_own and is_read.any():
                notes.append(f"{is_read.sum():,} labelled nodes are not scored: {readers[0]} reads their labels")
            is_training, is_labelled = is_training | is_read, is_labelled & ~is_read
        train, val = ((is_labelled & (parts == name)).sum() for name in ("train", "val"))
        if not is_own and train + val:
            counts = f"{train:,} training and {val:,} validation nodes"
            notes.append(f"{counts} of the run have a known label and are not counted")
        counted = ("test",) if is_own else tuple(_NODES)
        return cls(predictions, labels, is_training, is_labelled & np.isin(parts, counted), is_own, tuple(notes))

    def metrics(self, *, calibrated: bool) -> list[str]:
        """A line for each kind of node that counts."""
        lines = []
        for name, what in _NODES.items():
            rows = self.is_counted & (self.predictions.parts == name)
            if rows.any():
                figures = _metrics(self.predictions.probabilities[rows], self.labels[rows], calibrated=calibrated)
                lines.append(f"{rows.sum():,} {what}: {figures}")
        return lines

    def top(self, label: int, k: int, *, with_training: bool) -> str:
        """The k nodes with the highest probability of a class, and how well it ranks the nodes that count."""
        labels = self.labels
        if BACKGROUND in self.predictions.classes:
            labels = np.where(labels == self.predictions.classes.index(BACKGROUND), UNLABELLED, labels)
        text = _table_of_top(self.predictions, labels, label, k, ~self.is_training | with_training)
        if not self.is_counted.any():
            return text
        p, y = self.predictions.probabilities[self.is_counted, label], self.labels[self.is_counted]
        best, name = metrics.precision_at(k, p, labels[self.is_counted], label), self.predictions.classes[label]
        what = "test nodes" if self.is_own else "nodes with a known label that the run was not fitted to"
        areas = {"PR-AUC": ranking.pr_auc(p, y == label), "ROC-AUC": ranking.roc_auc(p, y == label)}
        shown = [f"{area} {value:.2%}" for area, value in areas.items() if value is not None]
        ks = ranking.ks_of(min(k, y.size))
        curve = zip(ks, ranking.precision_at(ks, p, y == label), strict=True)
        shown.append("precision at " + ", ".join(f"{count:,}: {share:.2%}" for count, share in curve))
        first = f"among the {y.size:,} {what} only, {_precision(best, name)}"
        return f"{text}\n{first}\n{name} among them: {'; '.join(shown)}"

    def alerts(self, chosen: Thresholds) -> str:
        """The threshold of each class, and the alerts it gives."""
        reached, counted = chosen.reach(self.predictions.probabilities), self.is_counted
        rows = [["class", "threshold", "val alerts", "of nodes", "known alerts", "precision", "recall", "other alerts"]]
        for label, name in enumerate(chosen.classes):
            if name == BACKGROUND:
                continue
            is_alert, is_member = reached[:, label], self.labels == label
            known, hits = (int((counted & is_alert & test).sum()) for test in (True, is_member))
            members = int((counted & is_member).sum())
            threshold = chosen.values[label]
            others = int((is_alert & ~counted & ~self.is_training & (self.predictions.parts != "val")).sum())
            cells = [f"{threshold:.4f}", f"{chosen.reached[label]:,}", f"{chosen.members[label]:,}", f"{known:,}"]
            cells += [_share(hits, known), _share(hits, members), f"{others:,}"]
            if np.isnan(threshold):
                cells = ["–", "0", f"{chosen.members[label]:,}", "–", "–", "–", "–"]
            rows.append([name, *cells])
        about = f"thresholds for a precision of {chosen.required:.2%} on the validation nodes"
        return f"\n{aligned(rows, right=range(1, 8))}\n\n{about}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2%}" if whole else "–"


def _metrics(p: NDArray[np.float64], y: NDArray[np.int64], *, calibrated: bool) -> str:
    scores = metrics.score(torch.from_numpy(np.log(np.maximum(p, np.finfo(np.float64).tiny))), torch.from_numpy(y))
    figures = f"accuracy {scores.accuracy:.2%}, macro-F1 {scores.macro_f1:.2%}"
    error = f"expected calibration error {metrics.calibration_error(p, y):.2%}"
    return f"{figures}, {error}" if calibrated else f"{figures}; probabilities are not calibrated for this graph"


def _table_of_top(
    predictions: Predictions, labels: NDArray[np.int64], label: int, k: int, is_ranked: NDArray[np.bool_]
) -> str:
    p, y, ids = predictions.probabilities[is_ranked, label], labels[is_ranked], predictions.ids[is_ranked].astype(str)
    best = metrics.precision_at(k, p, y, label)
    names = np.array([*predictions.classes, "–"])
    parts = predictions.parts[is_ranked]
    rows = [["rank", predictions.id_name, "probability", "label", "part"]]
    for rank, index in enumerate(best.indices, 1):
        rows.append([str(rank), ids[index], f"{p[index]:.4f}", names[y[index]], parts[index]])
    num_excluded = int((~is_ranked).sum())
    note = f"; {num_excluded:,} training nodes left out" if num_excluded else ""
    return f"\n{aligned(rows, right=(0, 2))}\n\n{_precision(best, names[label])}{note}"


def _precision(top: Top, name: str) -> str:
    share = "no label is known" if top.precision is None else f"precision {top.precision:.2%}"
    counts = f"{top.correct:,} of {top.known:,} with a known label, {top.indices.size - top.known:,} unknown"
    return f"top {top.indices.size:,} for {name}: {share} ({counts})"
