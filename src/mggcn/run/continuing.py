"""Runs of an experiment or a search, which continue after an interrupt if they took long enough for a checkpoint."""

import shutil
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import torch

from mggcn.dataset import Dataset
from mggcn.errors import InputError, InputWarning
from mggcn.methods import Plan
from mggcn.records.record import RunRecord
from mggcn.run.fitting import fit_plan
from mggcn.run.folder import identity_of
from mggcn.train import Checkpoints, Progress
from mggcn.train.checkpoints import EVERY, BusyError


def fit_continued(
    folder: Path,
    dataset: Dataset,
    plan: Plan,
    seed: int,
    device: torch.device,
    progress: Progress,
    store: Callable[[RunRecord], None],
    *,
    every: float = EVERY,
) -> None:
    """Train a run, or continue it, and store its record; checkpoints exist only in between.

    Damaged checkpoints are left out with a warning. If another process trains the same run, this one writes none.

    Args:
        folder: of the checkpoints.
        dataset: as in :func:`fit_plan`, like ``plan``, ``seed`` and ``device``.
        plan: the method with every setting.
        seed: of weights, order and picks.
        device: of the model.
        progress: is called with every epoch, also with those from before an interrupt.
        store: is called with the record before the checkpoints are removed.
        every: seconds between two checkpoints, at least.
    """
    identity = identity_of(dataset, plan, seed, device)
    with ExitStack() as stack:
        checkpoints = _open(folder, identity, every, stack)
        if checkpoints is None:
            store(fit_plan(dataset, plan, seed, device, progress).record)
            return
        try:
            for epoch in checkpoints.state.fitted.curve if checkpoints.state else ():
                progress.epoch(epoch)
            store(fit_plan(dataset, plan, seed, device, progress, checkpoints).record)
        except InputError:
            checkpoints.remove()
            raise
        checkpoints.remove()


def _open(folder: Path, identity: dict[str, object], every: float, stack: ExitStack) -> Checkpoints | None:
    try:
        return stack.enter_context(Checkpoints(folder, identity, every))
    except BusyError:
        return None
    except InputError as error:
        warnings.warn(f"{error}; the run starts again", InputWarning, stacklevel=3)
        shutil.rmtree(folder)
        return stack.enter_context(Checkpoints(folder, identity, every))
