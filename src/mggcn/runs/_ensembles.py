"""Ensembles: the mean probabilities of several runs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import ArrayLike

from mggcn.data import Dataset, as_dataset
from mggcn.errors import InputError
from mggcn.runs._parts import most_used
from mggcn.runs._predictions import Predictions
from mggcn.runs._run import Run
from mggcn.runs._targets import targets_of

if TYPE_CHECKING:
    from torch_geometric.data import Data


def ensemble(
    runs: Sequence[Run],
    dataset: "Dataset | Data | None" = None,
    nodes: ArrayLike | None = None,
    *,
    ids: Iterable[object] | None = None,
    draws: int | None = None,
    calibrated: bool = True,
    device: str | torch.device = "auto",
    root: Path | None = None,
) -> Predictions:
    """Average the probabilities of runs with the same classes and features, each run calibrated by itself.

    Args:
        runs: at least one.
        dataset: as in :meth:`Run.predict`; when None, the one that all runs were trained on.
        nodes: as in :meth:`Run.predict`.
        ids: the user's ids of the nodes, instead of ``nodes``.
        draws: as in :meth:`Run.predict`, for each run.
        calibrated: as in :meth:`Run.predict`.
        device: ``auto``, ``cpu``, ``cuda`` or a device.
        root: the folder in which named data sets are searched.
    """
    check_alike(runs, same_data=dataset is None)
    data = (
        runs[0].training_data(root)
        if dataset is None
        else as_dataset(dataset, "ensemble", needs_split=False, direction=runs[0].direction)
    )
    chunks = ensemble_chunks(
        runs,
        data,
        nodes,
        ids=ids,
        draws=draws,
        calibrated=calibrated,
        device=device,
        root=root,
    )
    return Predictions.joined([*chunks])


def ensemble_chunks(
    runs: Sequence[Run],
    dataset: "Dataset | Data | None" = None,
    nodes: ArrayLike | None = None,
    *,
    ids: Iterable[object] | None = None,
    draws: int | None = None,
    calibrated: bool = True,
    device: str | torch.device = "auto",
    root: Path | None = None,
) -> Iterator[Predictions]:
    """The predictions of :func:`ensemble`, which has the same arguments, for some of the nodes at a time."""
    check_alike(runs, same_data=dataset is None)
    data = (
        runs[0].training_data(root)
        if dataset is None
        else as_dataset(dataset, "ensemble", needs_split=False, direction=runs[0].direction)
    )
    targets = targets_of(data, nodes, ids)
    each = [
        run.predict_chunks(data, targets, draws=draws, calibrated=calibrated, device=device, root=root) for run in runs
    ]
    return (_mean(chunks) for chunks in zip(*each, strict=True))


def _mean(predictions: Sequence[Predictions]) -> Predictions:
    return replace(
        predictions[0],
        probabilities=np.mean([of_run.probabilities for of_run in predictions], axis=0),
        parts=most_used([of_run.parts for of_run in predictions]),
    )


def check_alike(runs: Sequence[Run], *, same_data: bool) -> None:
    """Raise InputError unless runs can be averaged: the same classes and features and, if asked, training data."""
    if not runs:
        raise InputError("ensemble: name at least one run")
    _check_same(runs, "classes", lambda run: run.classes)
    _check_same(runs, "number of features", lambda run: run.record.dataset["num_features"])
    _check_same(runs, "feature names", lambda run: tuple(run.record.dataset.get("feature_names") or ()))
    if same_data:
        _check_same(runs, "training data", _training_data)


def _training_data(run: Run) -> tuple[object, ...]:
    data = run.record.dataset
    return data["name"], (data["digest"] or "")[:8], run.record.split_seed


def _check_same(runs: Sequence[Run], what: str, value: Callable[[Run], object]) -> None:
    """Raise InputError for the first run whose value differs from that of the first run."""
    for number, run in enumerate(runs[1:], 2):
        if value(run) != value(runs[0]):
            names = [str(one.path or f"run {position}") for position, one in ((1, runs[0]), (number, run))]
            raise InputError(
                f"{names[1]}: {what} {_short(value(run))}, but {names[0]} has {_short(value(runs[0]))}; "
                "an ensemble needs the same"
            )


def _short(value: object) -> str:
    """A value in a few words."""
    if not isinstance(value, tuple):
        return str(value)
    words = [str(part) for part in value if part is not None]
    return (", ".join(words[:4]) + (f" and {len(words) - 4} more" if len(words) > 4 else "")) or "none"
