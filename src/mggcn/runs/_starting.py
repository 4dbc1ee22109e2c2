"""Starting a run, and resuming one that was interrupted."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from mggcn.data import Dataset, as_dataset
from mggcn.errors import DataWarning, InputError
from mggcn.graph import Direction
from mggcn.methods import Method, Preset
from mggcn.runs._fitting import fit_plan
from mggcn.runs._folder import RunFolder
from mggcn.runs._loading import is_finished, load_run
from mggcn.runs._plan import resolve
from mggcn.runs._run import Run
from mggcn.runs._warm_start import WarmStart
from mggcn.training import EVERY, Progress, Ranks, Training, choose_device

if TYPE_CHECKING:
    from torch_geometric.data import Data


def fit(
    dataset: "Dataset | Data",
    method: str | Method | type[Method] | None = None,
    *,
    training: Training | None = None,
    settings: Mapping[str, object] | None = None,
    preset: Preset = "default",
    seed: int = 0,
    device: str | torch.device = "auto",
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = EVERY,
    warm_start: Run | str | Path | None = None,
    direction: Direction | None = None,
) -> Run:
    """Train a method on a data set and test the best epoch's weights.

    If PyTorch's default process group is initialised, all its ranks call this function with the same arguments and
    train together; the run is the same on all of them.

    Each setting has the first value of these that is given: the one in ``settings``; the field of the ``method`` object
    or of ``training``; the preset's for this data set; the default of the class. So ``"mg-gcn"``, ``MixGrained`` and
    ``MixGrained()`` train the same model, and ``MixGrained.paper(dataset)`` has every setting of the paper's method. A
    setting of training that is in ``settings`` and in ``training`` is an InputError.

    Args:
        dataset: with a split; PyG's ``Data`` is converted by :meth:`mggcn.Dataset.from_pyg`, see ``run.dataset``.
        method: a name from :data:`mggcn.methods.METHODS`, a class, or an object such as ``MixGrained(picks=8)``. None
            is ``mg-gcn``, or with ``warm_start`` the method and the settings of that run.
        training: how to train; every field counts as given, also those with their default.
        settings: values by name, of the method or of training.
        preset: ``default`` is our recipe for such features, ``paper`` what the method's paper uses on this data set.
        seed: of weights, order and picks; the same seed gives the same result.
        device: ``auto``, ``cpu``, ``cuda`` or a device.
        progress: is called with every epoch.
        checkpoint: the run folder to create, with checkpoints from which :func:`resume` continues an interrupted run;
            at the end it holds the run as :meth:`Run.save` writes it. None writes no files. Of several ranks, only the
            first writes. A setting that cannot be imported again, such as a ``lambda``, is an InputError.
        checkpoint_every: seconds between two checkpoints, at least; 0 writes one after every epoch.
        warm_start: a saved run, or its folder, whose weights and scaling of features the run starts with; features are
            matched as in :meth:`Run.predict`.
        direction: which neighbours the nodes of a ``Data`` have, see :meth:`mggcn.Dataset.from_pyg`; the graph of a
            Dataset has its own.
    """
    if direction is not None and isinstance(dataset, Dataset):
        raise InputError(f"direction: {dataset.name} has the direction {dataset.graph.direction!r} already")
    dataset = as_dataset(dataset, "fit", needs_split=True, direction=direction)
    if dataset.warnings != dataset.notes:  # notes were warned of when the data were read
        warnings.warn(f"{dataset.name}: {dataset.warnings[-1]}", DataWarning, stacklevel=2)
    ranks, origin = Ranks.current(), None if warm_start is None else WarmStart.of(warm_start)
    start: Mapping[str, Any] = {"seed": seed, "device": choose_device(device)}
    if origin is not None and method is None and training is None:
        plan = origin.plan(dataset, settings or {}, **start)
    else:
        described = origin.describe() if origin else None
        plan = resolve(method or "mg-gcn", dataset, settings, training, preset=preset, warm_start=described, **start)
    if checkpoint is None:
        plan.check_ranks(ranks)
        return fit_plan(dataset, plan, progress, origin=origin, ranks=ranks)
    folder = RunFolder.create(Path(checkpoint), dataset, plan, origin, ranks=ranks)
    return folder.train(progress, checkpoint_every)


def resume(
    folder: str | Path,
    dataset: "Dataset | Data | None" = None,
    *,
    settings: Mapping[str, object] | None = None,
    progress: Progress | None = None,
    checkpoint_every: float = EVERY,
    root: Path | None = None,
    allow_import: bool = False,
) -> Run:
    """Continue a run that was interrupted; it ends as if it had not been. A finished run is only read.

    Args:
        folder: as :func:`fit` created it for ``checkpoint``.
        dataset: the same data, if it is neither a known data set nor a dataset folder.
        settings: other values of ``epochs`` or ``patience``; all others are those of the run.
        progress: is called with every epoch that is still to train.
        checkpoint_every: as in :func:`fit`.
        root: the folder in which named data sets are searched.
        allow_import: as in :func:`load_run`.
    """
    path, ranks = Path(folder), Ranks.current()
    if ranks.first(lambda: is_finished(path)):
        return load_run(path, allow_import=allow_import)
    data = None if dataset is None else as_dataset(dataset, "resume", needs_split=True)
    opened = RunFolder.open(path, data, settings, root=root, allow_import=allow_import, ranks=ranks)
    return opened.train(progress, checkpoint_every)
