"""What ``mggcn predict`` prints of predictions."""

import numpy as np

from mggcn.cli.display import aligned
from mggcn.data import BACKGROUND
from mggcn.runs import PART_NAMES, Assessment, Predictions
from mggcn.training import Tally, Top, ks_of

_NODES = {"test": "test nodes", "new": "new nodes with a known label"}


class Predicted:
    """The lines on predictions.

    Args:
        predictions: of the nodes.
    """

    def __init__(self, predictions: Predictions) -> None:
        self._predictions, self._assessment = predictions, Assessment(predictions)
        self._classes = predictions.classes

    def notes(self) -> list[str]:
        """Lines on nodes that do not count."""
        assessed, data, notes = self._assessment, self._predictions.dataset, []
        if count := assessed.num_unknown:
            names = ", ".join(name for name in data.classes if name not in self._classes)
            notes.append(f"{count:,} nodes have a label that the run does not have and are not counted: {names}")
        if assessed.is_own:
            return notes
        if count := int(assessed.is_read.sum()):
            notes.append(f"{count:,} labelled nodes are not scored: {assessed.readers[0]} reads their labels")
        train, val = assessed.fitted
        if train + val:
            counts = f"{train:,} training and {val:,} validation nodes"
            notes.append(f"{counts} of the run have a known label and are not counted")
        return notes

    def metrics(self, *, calibrated: bool) -> list[str]:
        """A line for each kind of node that counts."""
        count = len(self._predictions.runs)
        average = f" (mean probabilities of {count} runs)" if count > 1 else ""
        tallies = self._assessment.tallies()
        return [f"{tally.count:,} {_NODES[name]}: {_figures(tally, calibrated)}{average}" for name, tally in tallies]

    def top(self, label: int, k: int, *, with_training: bool) -> str:
        """The nodes with the highest probability of a class, and how well it ranks the nodes that count."""
        assessed = self._assessment
        best = assessed.top(label, k, None if with_training else ~assessed.is_training)
        text = f"{self._table(best, label)}\n\n{self._precision(best, label)}"
        if excluded := 0 if with_training else int(assessed.is_training.sum()):
            text += f"; {excluded:,} training nodes left out"
        count = int(assessed.counted.sum())
        if not count:
            return text
        what = "test nodes" if assessed.is_own else "nodes with a known label that the run was not fitted to"
        ranked = assessed.ranked(label)
        areas = {"PR-AUC": ranked.pr_auc(), "ROC-AUC": ranked.roc_auc()}
        shown = [f"{area} {value:.2%}" for area, value in areas.items() if value is not None]
        ks = ks_of(min(k, count))
        curve = zip(ks, ranked.precision_at(ks), strict=True)
        shown.append("precision at " + ", ".join(f"{first:,}: {share:.2%}" for first, share in curve))
        among = self._precision(assessed.top(label, k, assessed.counted), label)
        return (
            f"{text}\namong the {count:,} {what} only, {among}\n{self._classes[label]} among them: {'; '.join(shown)}"
        )

    def alerts(self) -> str:
        """The threshold of each class, and the alerts it gives."""
        if (chosen := self._predictions.thresholds) is None:
            return ""
        rows = [["class", "threshold", "val alerts", "of nodes", "known alerts", "precision", "recall", "other alerts"]]
        for label, counts in enumerate(self._assessment.alerts().tolist()):
            if self._classes[label] == BACKGROUND:
                continue
            known, hits, members, others = counts
            threshold = chosen.values[label]
            cells = [f"{threshold:.4f}", f"{chosen.reached[label]:,}", f"{chosen.members[label]:,}", f"{known:,}"]
            cells += [_share(hits, known), _share(hits, members), f"{others:,}"]
            if np.isnan(threshold):
                cells = ["–", "0", f"{chosen.members[label]:,}", "–", "–", "–", "–"]
            rows.append([self._classes[label], *cells])
        about = f"thresholds for a precision of {chosen.required:.2%} on the validation nodes"
        return f"\n{aligned(rows, right=range(1, 8))}\n\n{about}{self._background_is_wrong()}"

    def _table(self, best: Top, label: int) -> str:
        predictions, names = self._predictions, [*self._classes, "–"]
        ids = predictions.dataset.ids_of(predictions.nodes[best.indices]).tolist()
        rows = [["rank", predictions.dataset.id_name, "probability", "label", "part"]]
        for rank, (row, name) in enumerate(zip(best.indices.tolist(), ids, strict=True), 1):
            p, known = predictions.probabilities[row, label], names[self._assessment.labels[row]]
            rows.append([str(rank), str(name), f"{p:.4f}", known, PART_NAMES[predictions.part_index[row]]])
        return f"\n{aligned(rows, right=(0, 2))}"

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


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2%}" if whole else "–"


def _figures(tally: Tally, calibrated: bool) -> str:
    figures = f"accuracy {tally.scores.accuracy:.2%}, macro-F1 {tally.scores.macro_f1:.2%}"
    error = f"expected calibration error {tally.calibration_error:.2%}"
    return f"{figures}, {error}" if calibrated else f"{figures}; probabilities are not calibrated for this graph"
