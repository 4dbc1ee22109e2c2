"""Runs of an experiment or a search, which continue after an interrupt if they took long enough for a checkpoint."""

import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from mggcn.data import Dataset
from mggcn.errors import InputError, InputWarning
from mggcn.methods.plan import Plan
from mggcn.runs._identity import identity_of
from mggcn.training import EVERY, BusyError, Checkpoints, Progress


@contextmanager
def continued(
    folder: Path,
    dataset: Dataset,
    plan: Plan,
    seed: int,
    device: torch.device,
    progress: Progress,
    every: float = EVERY,
) -> Iterator[Checkpoints | None]:
    """Open the checkpoints of a run, for :func:`fit_plan`; only an interrupt leaves them behind.

    Checkpoints that cannot be used are left out with a warning. If another process trains the same run, there are none.

    Args:
        folder: of the checkpoints.
        dataset: as in :func:`fit_plan`, like ``plan``, ``seed`` and ``device``.
        plan: the method with every setting.
        seed: of weights, order and picks.
        device: of the model.
        progress: is called with the epochs from before an interrupt.
        every: seconds between two checkpoints, at least.
    """
    identity = identity_of(dataset, plan, seed, device)
    try:
        opened = Checkpoints(folder, identity, every).open()
    except BusyError:
        yield None
        return
    except InputError as error:
        warnings.warn(f"{error}; the run starts again", InputWarning, stacklevel=3)
        shutil.rmtree(folder)
        opened = Checkpoints(folder, identity, every).open()
    try:
        with opened as checkpoints:
            for epoch in checkpoints.state.fitted.curve if checkpoints.state else ():
                progress.epoch(epoch)
            yield checkpoints
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        if isinstance(error, InputError) or not any(folder.glob("*.json")):
            opened.remove()
        raise
    opened.remove()
