"""Predictor: what a :class:`~mggcn.runs.Run` and an :class:`~mggcn.runs.Ensemble` share, the scoring of nodes."""

import logging
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from mggcn.data import Dataset, as_dataset
from mggcn.errors import InputError, warn_caller
from mggcn.graph import Direction
from mggcn.runs._alerts import check_precision, choose_thresholds, validation_nodes
from mggcn.runs._nodes import parts_of, targets_of
from mggcn.runs._predictions import Predictions
from mggcn.runs._reasons import check_reasons, reasons_of
from mggcn.runs._scoring import Probabilities, Scorer
from mggcn.training import ALONE, CHUNK, Inference, Ranks, calibrated, choose_device

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from mggcn.runs._run import Run

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class How:
    """How nodes are scored, see :meth:`Predictor.predict`."""

    draws: int | None = None
    calibrated: bool = True
    device: str | torch.device = "auto"
    root: Path | None = None

    def prepared(self, runs: "Sequence[Run]", data: Dataset) -> list[Scorer]:
        """The runs prepared for scoring a graph."""
        device = choose_device(self.device)
        return [Scorer.of(run, data, device, self.draws, calibrated=self.calibrated, root=self.root) for run in runs]


class Predictor:
    """One or several trained runs that score nodes."""

    @property
    def runs(self) -> "tuple[Run, ...]":
        """The runs whose mean probabilities are predicted."""
        raise NotImplementedError

    @property
    def classes(self) -> tuple[str, ...]:
        """The name of each class."""
        return tuple(self.runs[0].record.dataset["classes"])

    @property
    def direction(self) -> Direction:
        """Which neighbours nodes had in training; the edges of a ``Data`` to score are read in the same way."""
        direction: Direction = self.runs[0].record.dataset.get("direction", "both")
        return direction

    def data(self, dataset: "Dataset | Data | None", caller: str, root: Path | None) -> Dataset:
        """The graph to score: what the user gave, or the data set that the runs were trained on."""
        if dataset is None:
            self.check_same_data()
            return self.runs[0].training_data(root)
        return as_dataset(dataset, caller, needs_split=False, direction=self.direction)

    def check_same_data(self) -> None:
        """Raise InputError unless all runs were trained on the same data and split."""

    def predict(
        self,
        dataset: "Dataset | Data | None" = None,
        nodes: ArrayLike | None = None,
        *,
        ids: Iterable[object] | None = None,
        reasons: int = 0,
        at_precision: float | None = None,
        draws: int | None = None,
        calibrated: bool = True,
        device: str | torch.device = "auto",
        root: Path | None = None,
        scratch: Path | None = None,
        ranks: Ranks = ALONE,
    ) -> Predictions:
        """Score nodes of the training graph or of a new graph with the same features.

        If the run and the graph both have names of features, columns are matched by name: their order does not matter,
        a missing one is an error, and further ones are ignored with an :class:`mggcn.InputWarning`. Otherwise they are
        matched by position, with such a warning if only the run has names.

        Args:
            dataset: the graph to score, a Dataset or PyG's ``Data``; the one that was trained on when None.
            nodes: node numbers or a boolean mask, as a list, a range, an array or a tensor; all nodes when None.
            ids: the user's ids of the nodes, instead of ``nodes``.
            reasons: give reasons in words for so many nodes of each class, those with the highest probabilities. They
                need names of features, and a method whose scores have gradients; others warn.
            at_precision: choose for each class the lowest probability with this precision on the validation nodes of
                the runs; nodes that reach it are alerts. Needs the training data.
            draws: average the probabilities over so many independent draws of the picks; as in the evaluation if None.
            calibrated: scale the probabilities by the temperature that was fitted on the validation nodes; the most
                probable class does not depend on it. For other than the evaluation's draws it is fitted on as
                many, which needs the training data.
            device: ``auto``, ``cpu``, ``cuda`` or a device.
            root: the folder in which named data sets are searched.
            scratch: a folder for a temporary file that holds the probabilities; they are in memory if None.
            ranks: processes that share the nodes; each gets the predictions of all.
        """
        if at_precision is not None:
            check_precision(at_precision)
        data = self.data(dataset, "predict", root)
        if reasons:
            check_reasons(data)
        targets = targets_of(data, nodes, ids)
        how = How(draws, calibrated, device, root)
        chosen = validation_nodes(self.runs, data, root) if at_precision is not None else None
        scorers = how.prepared(self.runs, data)
        p = _collected(mean_chunks(scorers, targets[ranks.part(targets.size)]), scratch)
        if ranks.size > 1:
            p = ranks.gather(torch.from_numpy(np.array(p))).numpy()
        predictions = Predictions(data, targets, p, parts_of(self.runs, data, targets), self.runs)
        if chosen is not None and at_precision is not None:
            trained, validated = chosen
            prepared = scorers if trained is data else how.prepared(self.runs, trained)
            thresholds = choose_thresholds(
                at_precision, np.concatenate([*mean_chunks(prepared, validated)]), trained, validated, self.classes
            )
            predictions = replace(predictions, thresholds=thresholds)
        return replace(predictions, reasons=_reasons(predictions, scorers, reasons, ranks)) if reasons else predictions

    def predict_chunks(
        self,
        dataset: "Dataset | Data | None" = None,
        nodes: ArrayLike | None = None,
        *,
        ids: Iterable[object] | None = None,
        draws: int | None = None,
        calibrated: bool = True,
        device: str | torch.device = "auto",
        root: Path | None = None,
    ) -> Iterator[Predictions]:
        """The predictions of :meth:`predict` for some of the nodes at a time, without reasons and alerts.

        Ranks are those within a chunk. Methods that score all nodes at once still hold all probabilities.
        """
        data = self.data(dataset, "predict", root)
        targets = targets_of(data, nodes, ids)
        scorers = How(draws, calibrated, device, root).prepared(self.runs, data)

        def chunks() -> Iterator[Predictions]:
            first = 0
            for p in mean_chunks(scorers, targets):
                part = targets[first : first + len(p)]
                yield Predictions(data, part, p, parts_of(self.runs, data, part), self.runs)
                first += len(p)

        return chunks()


def mean_chunks(scorers: Sequence[Scorer], nodes: NDArray[np.int64]) -> Iterator[Probabilities]:
    """[n, classes] the mean probabilities of runs for some nodes at a time."""
    for rows in zip(*(_chunks(scorer, nodes) for scorer in scorers), strict=True):
        yield rows[0] if len(rows) == 1 else np.mean(rows, axis=0)


def _chunks(scorer: Scorer, nodes: NDArray[np.int64]) -> Iterator[Probabilities]:
    run, compute, started = scorer.run, scorer.compute, time.perf_counter()
    for scores in Inference(run.model, scorer.view, run.key, compute, scorer.draws).predict_chunks(nodes):
        rows = calibrated(scores, scorer.temperature).exp().cpu().numpy()
        scorer.dataset.check_unchanged()
        yield from (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))
    seconds = time.perf_counter() - started
    _log.info("%s: scored %d nodes on %s in %.2f s", scorer.dataset.name, nodes.size, compute.device, seconds)


def _collected(chunks: Iterator[Probabilities], folder: Path | None) -> Probabilities:
    """All rows: in memory, or mapped from a file of the folder that no other process sees."""
    if folder is None:
        return np.concatenate([*chunks])
    count = width = 0
    with tempfile.TemporaryFile(dir=folder) as file:
        for rows in chunks:
            file.write(rows.astype(np.float64).tobytes())
            count, width = count + len(rows), rows.shape[1]
        return np.memmap(file, np.float64, "r", shape=(count, width))


def _reasons(predictions: Predictions, scorers: Sequence[Scorer], count: int, ranks: Ranks) -> dict[int, list[str]]:
    """The reasons of the first rows of each class, in shares of the ranks; a warning if a method gives none."""
    rows = np.flatnonzero(predictions.ranks <= count)
    own = rows[ranks.part(rows.size)]
    try:
        found = reasons_of(scorers, predictions.nodes[own], predictions.class_index[own])
    except InputError as error:
        warn_caller(str(error))
        found = [[] for _ in own]
    return {
        row: texts
        for rank_rows, rank_texts in ranks.every((own.tolist(), found))
        for row, texts in zip(rank_rows, rank_texts, strict=True)
    }
