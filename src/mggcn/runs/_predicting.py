"""Probabilities of nodes with a run's model, some nodes at a time."""

import logging
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from mggcn import training as train
from mggcn.data import Dataset
from mggcn.runs._calibration import temperature_of
from mggcn.runs._parts import part_finder
from mggcn.runs._predictions import Predictions
from mggcn.runs._targets import targets_of
from mggcn.training import CHUNK, choose_device

if TYPE_CHECKING:
    from mggcn.runs._run import Run

_log = logging.getLogger(__name__)


def predict_chunks(
    run: "Run",
    data: Dataset,
    nodes: ArrayLike | None,
    ids: Iterable[object] | None,
    draws: int,
    device: str | torch.device,
    root: Path | None,
    *,
    calibrated: bool,
) -> Iterator[Predictions]:
    """See :meth:`mggcn.runs.Run.predict_chunks`; what cannot be scored is an error of this call."""
    targets = targets_of(data, nodes, ids)
    started = time.perf_counter()
    view, compute = run.view(data, choose_device(device))
    temperature = temperature_of(run, draws, data, view, compute, root) if calibrated else 1.0
    find_parts = part_finder(run, data, root)

    def probabilities(scored: NDArray[np.int64]) -> Iterator[NDArray[np.float64]]:
        for scores in train.predict_chunks(run.model, view, scored, run.key, compute, draws):
            rows = train.calibrated(scores, temperature).exp().cpu().numpy()
            yield from (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))
        seconds = time.perf_counter() - started
        how = (data.name, scored.size, compute.device, seconds)
        _log.info("%s: scored %d nodes on %s in %.2f s, preparation included", *how)

    def chunks() -> Iterator[Predictions]:
        first = 0
        for rows in probabilities(targets):
            part = targets[first : first + len(rows)]
            data.check_unchanged()
            yield Predictions(part, data.ids_of(part), rows, run.classes, find_parts(part), data.id_name)
            first += len(rows)

    return chunks()
