"""Assessment: what known labels say of predictions, over nodes that the runs were not fitted to."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from mggcn import methods
from mggcn.runs._nodes import NEW, TEST, TRAIN, VAL, labels_in
from mggcn.runs._predictions import Predictions
from mggcn.training import Ranked, Tally, Top

_AT_ONCE = 1 << 17


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

    def top(self, label: int, k: int, *, with_training: bool = False) -> Top:
        """The rows with the highest probability of a class, and their precision."""
        rows = np.arange(self.labels.size) if with_training else np.flatnonzero(~self.is_training)
        top = Top.of(k, self.predictions.probabilities[rows, label], self.labels[rows], label)
        return Top(rows[top.indices], top.known, top.correct)

    def top_counted(self, label: int, k: int) -> Top:
        """The same among the nodes that count only."""
        p, y = self.predictions.probabilities[self.counted, label], self.labels[self.counted]
        return Top.of(k, p, y, label)

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
