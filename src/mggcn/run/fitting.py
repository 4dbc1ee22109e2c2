"""Training a method on a data set: prepare, train, test, and record what happened."""

import logging
import statistics
import time
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import torch
from torch import Tensor

from mggcn import methods, storage, train
from mggcn.dataset import Dataset, as_dataset
from mggcn.errors import DataWarning
from mggcn.keys import Key
from mggcn.methods import Method, Plan, Preset
from mggcn.records import environment
from mggcn.records.record import RunRecord, near_best, seconds_until
from mggcn.run.run import Run
from mggcn.run.smoothing import measure
from mggcn.train import Compute, Fitted, Prepared, Training, choose_device, memory, metrics
from mggcn.train.progress import Silent

if TYPE_CHECKING:
    from torch_geometric.data import Data

_log = logging.getLogger(__name__)


def fit(
    dataset: "Dataset | Data",
    method: str | Method | type[Method] = "mg-gcn",
    *,
    training: Training | None = None,
    settings: Mapping[str, object] | None = None,
    preset: Preset = "default",
    seed: int = 0,
    device: str | torch.device = "auto",
    progress: train.Progress | None = None,
) -> Run:
    """Train a method on a data set and test the best epoch's weights.

    Args:
        dataset: with a split; PyG's ``Data`` is converted by :meth:`mggcn.Dataset.from_pyg`, see ``run.dataset``.
        method: an object such as ``MixGrained(picks=8)``, used as it is; or a name from :data:`mggcn.methods.METHODS`
            or a class, which start from the settings that suit the data set.
        training: how to train, used as it is; settings that suit the data set and the method when None.
        settings: changes by name, of the method or of training.
        preset: where a method given by name or class starts: ``default`` is our recipe for such features, ``paper``
            what its paper uses on this data set.
        seed: of weights, order and picks; the same seed gives the same result.
        device: ``auto``, ``cpu``, ``cuda`` or a device.
        progress: is called with every epoch.
    """
    dataset = as_dataset(dataset, "fit", needs_split=True)
    if dataset.warnings != dataset.notes:  # notes were warned of when the data were read
        warnings.warn(f"{dataset.name}: {dataset.warnings[-1]}", DataWarning, stacklevel=2)
    plan = methods.resolve(method, dataset.name, settings, training, preset=preset, sparse=dataset.is_sparse)
    return fit_plan(dataset, plan, seed, device, progress)


def fit_plan(
    dataset: Dataset,
    plan: Plan,
    seed: int = 0,
    device: str | torch.device = "auto",
    progress: train.Progress | None = None,
) -> Run:
    """Train a method whose settings are resolved, see :func:`fit`."""
    split, device = dataset.require_split(), choose_device(device)
    key, compute = Key.of(seed), plan.compute(device)
    _log.info(
        "%s on %s, seed %d, on %s with %d threads", plan.name, dataset.name, seed, device, torch.get_num_threads()
    )
    memory.reset_peak(device)
    started = time.perf_counter()
    prepared = plan.prepare(dataset, key, compute)
    prepare_seconds = time.perf_counter() - started
    prepare_peak = memory.peak(device)
    _log.debug(
        "inputs: %s, sampler: %s", *(type(part).__name__ for part in (prepared.train.inputs, prepared.train.sampler))
    )
    fitted = train.fit(prepared, dataset, plan.training, key, compute, progress or Silent())
    trained_seconds = time.perf_counter() - started
    scores = train.predict(prepared.model, prepared.eval, split.test, key, compute, plan.training.draws)
    truth = torch.from_numpy(dataset.y[split.test]).to(device)
    tested = metrics.score(scores, truth)
    total_seconds = time.perf_counter() - started
    _log.info(
        "prepared in %.2f s, trained %d epochs in %.2f s, scored %d test nodes in %.2f s",
        prepare_seconds,
        len(fitted.curve),
        trained_seconds - prepare_seconds,
        split.test.size,
        total_seconds - trained_seconds,
    )
    peak_memory = max(prepare_peak, fitted.first_peak or 0, memory.peak(device))
    curve = fitted.curve
    calibration = _calibration(prepared, dataset, key, compute, scores, truth, plan.training.draws)
    smoothed = None
    if plan.training.smooth:
        smoothed = measure(prepared, dataset, plan.training, key, compute, calibration["temperature"])
    record = RunRecord(
        dataset=_describe(dataset),
        method=plan.name,
        method_version=plan.method.version,
        seed=seed,
        split_seed=split.seed,
        settings={**plan.settings, "scaling": prepared.scaler.kind},
        device=device.type,
        epochs=len(curve),
        best_epoch=fitted.best_epoch,
        val_loss=fitted.val.loss,
        val_accuracy=fitted.val.accuracy,
        val_macro_f1=fitted.val.macro_f1,
        test_accuracy=tested.accuracy,
        test_macro_f1=tested.macro_f1,
        test_confusion=metrics.confusion(scores, truth),
        epoch_seconds=statistics.median([epoch.train_seconds for epoch in curve] or [0.0]),
        prepare_seconds=prepare_seconds,
        seconds_to_best=seconds_until(fitted.best_epoch, prepare_seconds, curve),
        seconds_to_near_best=seconds_until(near_best(curve), prepare_seconds, curve),
        total_seconds=total_seconds,
        peak_memory_bytes=peak_memory,
        training_memory_bytes=fitted.first_peak,
        nodes_per_batch=_nodes_per_batch(prepared, dataset, plan.training, key, fitted),
        curve=curve,
        environment=environment.describe() | {"torch_threads": torch.get_num_threads()},
        smoothed=smoothed,
        **calibration,
    )
    return Run(record, plan, prepared.model, prepared.scaler, dataset, scored_on=(prepared.eval, compute))


def _nodes_per_batch(prepared: Prepared, dataset: Dataset, training: Training, key: Key, fitted: Fitted) -> float:
    if not fitted.curve:
        return 0.0
    return train.nodes_per_batch(prepared.train.sampler, dataset.require_split().train, training, key)


def _calibration(
    prepared: Prepared, dataset: Dataset, key: Key, compute: Compute, scores: Tensor, truth: Tensor, draws: int
) -> dict[str, Any]:
    """The temperature for the validation nodes, and the test nodes' calibration error with and without it."""
    val = dataset.require_split().val
    temperature = train.choose_temperature(
        train.predict(prepared.model, prepared.eval, val, key, compute, draws).cpu().numpy(), dataset.y[val]
    )
    return {
        "temperature": temperature,
        "test_ece": _calibration_error(train.calibrated(scores, temperature), truth),
        "test_ece_uncalibrated": _calibration_error(scores, truth),
    }


def _calibration_error(log_probabilities: Tensor, truth: Tensor) -> float:
    return metrics.calibration_error(log_probabilities.exp().cpu().numpy(), truth.cpu().numpy())


def _describe(dataset: Dataset) -> dict[str, Any]:
    split = dataset.require_split()
    optional = {
        "feature_names": list(dataset.feature_names),
        "encoding": msgspec.to_builtins(list(dataset.encoding)),
        "notes": list(dataset.warnings),
    }
    return {
        "name": dataset.name,
        "path": str(dataset.path) if dataset.path else None,
        "digest": storage.digest(dataset),
        "source": dataset.source,
        "num_nodes": dataset.num_nodes,
        "num_edges": dataset.graph.num_edges,
        "num_features": dataset.num_features,
        "classes": list(dataset.classes),
        "split": [part.size for part in (split.train, split.val, split.test)],
        **{name: values for name, values in optional.items() if values},
    }
