"""What ``mggcn predict`` prints of its predictions."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from mggcn import methods
from mggcn.cli.display import aligned
from mggcn.data import BACKGROUND, Dataset
from mggcn.runs import Predictions, Run, Thresholds, labels_in
from mggcn.training import Ranked, Tally, Top, ks_of
from mggcn.training import _metrics as metrics

_NODES = {"test": "test nodes", "new": "new nodes with a known label", "unknown": "nodes with a known label"}


class Predicted:
    """Counts what is printed of predictions, which come in chunks.

    What ranks nodes by a class keeps its probability and label, 16 bytes, of every node that counts in metrics.

    Args:
        runs: that gave the predictions.
        data: the graph.
        ranked: the class and the number of nodes to list, or None.
        with_training: list training nodes as well.
        chosen: the thresholds of alerts, or None.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        data: Dataset,
        *,
        ranked: tuple[int, int] | None = None,
        with_training: bool = False,
        chosen: Thresholds | None = None,
    ) -> None:
        self._data, self._classes = data, runs[0].classes
        self._ranked, self._with_training, self._chosen = ranked, with_training, chosen
        self._is_own = any(run.is_trained_on(data) for run in runs)
        self._readers = [run.record.method for run in runs if run.plan.method.reads_labels]
        self._read = methods.known_labels(data) if self._readers else None
        self._unknown = self._num_read = self._train = self._val = self._excluded = 0
        self._tallies = {name: Tally(len(self._classes)) for name in _NODES}
        self._best: list[_Listed] = []
        self._counted: list[tuple[NDArray[np.float64], NDArray[np.int64]]] = []
        self._alerts = np.zeros((len(self._classes), 4), np.int64)  # known, correct, of the class, other

    def add(self, predictions: Predictions) -> None:
        """Count the predictions of some nodes, which follow those before."""
        nodes, parts, p = predictions.nodes, predictions.parts, predictions.probabilities
        labels = labels_in(self._data, self._classes, nodes)
        self._unknown += int(((self._data.y[nodes] >= 0) & (labels < 0)).sum())
        is_training, is_labelled = parts == "train", labels >= 0
        if self._read is not None:
            is_read = self._read[nodes] >= 0
            self._num_read += int(is_read.sum())
            is_training, is_labelled = is_training | is_read, is_labelled & ~is_read
        self._train += int((is_labelled & (parts == "train")).sum())
        self._val += int((is_labelled & (parts == "val")).sum())
        is_counted = is_labelled & np.isin(parts, ("test",) if self._is_own else tuple(_NODES))
        for name, tally in self._tallies.items():
            rows = is_counted & (parts == name)
            if rows.any():
                log_p = np.log(np.maximum(p[rows], np.finfo(np.float64).tiny))
                tally.add(torch.from_numpy(log_p), torch.from_numpy(labels[rows]), p[rows])
        if self._ranked is not None:
            self._rank(predictions, labels, ~is_training | self._with_training, *self._ranked)
            self._counted.append((p[is_counted, self._ranked[0]], labels[is_counted]))
        if self._chosen is not None:
            is_other = ~is_counted & ~is_training & (parts != "val")
            self._count_alerts(self._chosen.reach(p), labels, is_counted, is_other)

    def _rank(
        self, predictions: Predictions, labels: NDArray[np.int64], is_ranked: NDArray[np.bool_], label: int, k: int
    ) -> None:
        self._excluded += int((~is_ranked).sum())
        rows = np.flatnonzero(is_ranked)
        p, y = predictions.probabilities[rows, label], labels[rows]
        for index in metrics.precision_at(k, p, y, label).indices.tolist():
            name, part = str(predictions.ids[rows[index]]), str(predictions.parts[rows[index]])
            self._best.append(_Listed(float(p[index]), int(y[index]), name, part))
        self._best = sorted(self._best, key=lambda listed: -listed.probability)[:k]  # equal ones keep their order

    def _count_alerts(
        self,
        reached: NDArray[np.bool_],
        labels: NDArray[np.int64],
        is_counted: NDArray[np.bool_],
        is_other: NDArray[np.bool_],
    ) -> None:
        is_member = labels[:, None] == np.arange(len(self._classes))
        counted, other = is_counted[:, None], is_other[:, None]
        counts = (counted & reached, counted & reached & is_member, counted & is_member, other & reached)
        self._alerts += np.stack([count.sum(axis=0) for count in counts], axis=1)

    def _precision(self, top: Top, label: int) -> str:
        share = "no label is known" if top.precision is None else f"precision {top.precision:.2%}"
        counts = f"{top.correct:,} of {top.known:,} with a known label, {top.indices.size - top.known:,} unknown"
        return (
            f"top {top.indices.size:,} for {self._classes[label]}: {share} ({counts}{self._background_is_wrong(label)})"
        )

    def _background_is_wrong(self, label: int | None = None) -> str:
        """What a precision counts the class Background as, if the run has it."""
        is_other = BACKGROUND in self._classes and (label is None or self._classes[label] != BACKGROUND)
        return f"; {BACKGROUND} counts as wrong" if is_other else ""

    @property
    def notes(self) -> list[str]:
        """Lines on nodes that do not count."""
        notes = []
        if self._unknown:
            names = ", ".join(name for name in self._data.classes if name not in self._classes)
            notes.append(
                f"{self._unknown:,} nodes have a label that the run does not have and are not counted: {names}"
            )
        if not self._is_own and self._num_read:
            notes.append(f"{self._num_read:,} labelled nodes are not scored: {self._readers[0]} reads their labels")
        if not self._is_own and self._train + self._val:
            counts = f"{self._train:,} training and {self._val:,} validation nodes"
            notes.append(f"{counts} of the run have a known label and are not counted")
        return notes

    def metrics(self, *, calibrated: bool) -> list[str]:
        """A line for each kind of node that counts."""
        tallies = ((self._tallies[name], what) for name, what in _NODES.items())
        return [f"{tally.count:,} {what}: {_figures(tally, calibrated)}" for tally, what in tallies if tally.count]

    def top(self) -> str:
        """The nodes with the highest probability of the class, and how well it ranks the nodes that count."""
        if self._ranked is None:
            return ""
        label, k = self._ranked
        name = self._classes[label]
        known = [listed for listed in self._best if listed.label >= 0]
        best = Top(np.arange(len(self._best)), len(known), sum(listed.label == label for listed in known))
        text = f"{self._table()}\n\n{self._precision(best, label)}"
        text += f"; {self._excluded:,} training nodes left out" if self._excluded else ""
        p, y = (np.concatenate(arrays) for arrays in zip(*self._counted, strict=True))
        if not y.size:
            return text
        among, what = metrics.precision_at(k, p, y, label), "test nodes"
        if not self._is_own:
            what = "nodes with a known label that the run was not fitted to"
        ranked = Ranked.of(p, y == label)
        areas = {"PR-AUC": ranked.pr_auc(), "ROC-AUC": ranked.roc_auc()}
        shown = [f"{area} {value:.2%}" for area, value in areas.items() if value is not None]
        ks = ks_of(min(k, y.size))
        curve = zip(ks, ranked.precision_at(ks), strict=True)
        shown.append("precision at " + ", ".join(f"{count:,}: {share:.2%}" for count, share in curve))
        first = f"among the {y.size:,} {what} only, {self._precision(among, label)}"
        return f"{text}\n{first}\n{name} among them: {'; '.join(shown)}"

    def _table(self) -> str:
        names = [*self._classes, "–"]
        rows = [["rank", self._data.id_name, "probability", "label", "part"]]
        for rank, listed in enumerate(self._best, 1):
            rows.append([str(rank), listed.id, f"{listed.probability:.4f}", names[listed.label], listed.part])
        return f"\n{aligned(rows, right=(0, 2))}"

    def alerts(self) -> str:
        """The threshold of each class, and the alerts it gives."""
        if (chosen := self._chosen) is None:
            return ""
        rows = [["class", "threshold", "val alerts", "of nodes", "known alerts", "precision", "recall", "other alerts"]]
        for label, name in enumerate(chosen.classes):
            if name == BACKGROUND:
                continue
            known, hits, members, others = self._alerts[label].tolist()
            threshold = chosen.values[label]
            cells = [f"{threshold:.4f}", f"{chosen.reached[label]:,}", f"{chosen.members[label]:,}", f"{known:,}"]
            cells += [_share(hits, known), _share(hits, members), f"{others:,}"]
            if np.isnan(threshold):
                cells = ["–", "0", f"{chosen.members[label]:,}", "–", "–", "–", "–"]
            rows.append([name, *cells])
        about = (
            f"thresholds for a precision of {chosen.required:.2%} on the validation nodes{self._background_is_wrong()}"
        )
        return f"\n{aligned(rows, right=range(1, 8))}\n\n{about}"


class _Listed(NamedTuple):
    """A node in a list of the most probable ones of a class."""

    probability: float
    label: int
    id: str
    part: str


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2%}" if whole else "–"


def _figures(tally: Tally, calibrated: bool) -> str:
    figures = f"accuracy {tally.scores.accuracy:.2%}, macro-F1 {tally.scores.macro_f1:.2%}"
    error = f"expected calibration error {tally.calibration_error:.2%}"
    return f"{figures}, {error}" if calibrated else f"{figures}; probabilities are not calibrated for this graph"
