"""Training a method on a data set: prepare, train, test, and record what happened."""

import logging
import statistics
import time
from dataclasses import replace
from typing import Any

import msgspec
import torch

from mggcn.data import Dataset
from mggcn.errors import InputError
from mggcn.keys import Key
from mggcn.runs._plan import Plan
from mggcn.runs._run import Run
from mggcn.runs._testing import test
from mggcn.runs._warm_start import WarmStart
from mggcn.training import (
    ALONE,
    AveragedInputs,
    Checkpoints,
    Fit,
    NotedProgress,
    Progress,
    Ranks,
    RunRecord,
    Silent,
    environment,
    epoch_seconds,
    near_best,
    nodes_per_batch,
    seconds_until,
    train,
)

_log = logging.getLogger(__name__)


def fit_plan(
    dataset: Dataset,
    plan: Plan,
    progress: Progress | None = None,
    checkpoints: Checkpoints | None = None,
    origin: WarmStart | None = None,
    ranks: Ranks = ALONE,
) -> Run:
    """Train a method whose settings are resolved, see :func:`fit`; open checkpoints are continued and written.

    The run of every rank has the same weights and metrics.
    """
    split, device = dataset.require_split(), plan.device
    key, compute = Key.of(plan.seed), plan.compute(device, ranks, dataset)
    given, state = dataset, checkpoints.state if checkpoints else None
    _log.info(
        "%s on %s, seed %d, on %s with %d threads", plan.name, dataset.name, plan.seed, device, torch.get_num_threads()
    )
    environment.reset_peak(device)
    started = time.perf_counter()
    if origin is None:
        prepared = plan.prepare(dataset, key, compute)
    else:
        origin.check(plan)
        dataset = origin.match(dataset)
        prepared = plan.prepare(dataset, key, compute, origin.run.model.state_dict(), origin.scaler)
    prepare_seconds = time.perf_counter() - started
    prepare_peak = environment.peak(device)
    parts = (type(part).__name__ for part in (prepared.train.inputs, prepared.train.sampler))
    phase = {"phase": "prepare", "seconds": prepare_seconds}
    _log.debug("inputs: %s, sampler: %s, prepared in %.2f s", *parts, prepare_seconds, extra=phase)
    fit = Fit(prepared, dataset, plan.training, key, compute)
    ranks.every(None)  # some prepare longer than others
    if ranks.size > 1 and not prepared.train.sampler.draws_per_target:
        raise InputError(f"{plan.name}: {ranks.size} ranks cannot train it, because its sampler draws whole batches")
    if isinstance(progress, NotedProgress):
        if isinstance(prepared.train.inputs, AveragedInputs):
            progress.note(prepared.train.inputs.reason)
        seconds = epoch_seconds(fit) if dataset.mapped is not None else None
        if seconds is not None:
            progress.note(f"an epoch takes about {seconds:.1f} s")
    fitted = train(fit, progress or Silent(), checkpoints)
    trained_seconds = time.perf_counter() - started
    tested = test(fit)
    test_seconds = time.perf_counter() - started - trained_seconds
    _log.debug("tested in %.2f s", test_seconds, extra={"phase": "test", "seconds": test_seconds})
    total_seconds = trained_seconds + tested.seconds + (state.seconds if state else 0.0)
    _log.info(
        "prepared in %.2f s, trained %d epochs in %.2f s, scored %d test nodes in %.2f s",
        prepare_seconds,
        len(fitted.curve),
        trained_seconds - prepare_seconds,
        split.test.size,
        tested.seconds,
    )
    peak_memory = max(prepare_peak, fitted.first_peak or 0, environment.peak(device))
    curve = fitted.curve
    several = {"ranks": ranks.size} if ranks.size > 1 else {}
    plan = replace(plan, training=replace(plan.training, scaling=prepared.scaler.kind))
    record = RunRecord(
        dataset=_describe(given) | _features(dataset),
        **plan.record_fields,
        split_seed=split.seed,
        epochs=len(curve),
        best_epoch=fitted.best_epoch,
        val_loss=fitted.val.loss,
        val_accuracy=fitted.val.accuracy,
        val_macro_f1=fitted.val.macro_f1,
        epoch_seconds=statistics.median([epoch.train_seconds for epoch in curve] or [0.0]),
        prepare_seconds=prepare_seconds,
        seconds_to_best=seconds_until(fitted.best_epoch, prepare_seconds, curve),
        seconds_to_near_best=seconds_until(near_best(curve), prepare_seconds, curve),
        total_seconds=total_seconds,
        peak_memory_bytes=peak_memory,
        training_memory_bytes=fitted.first_peak,
        nodes_per_batch=nodes_per_batch(fit) if curve else 0.0,
        curve=curve,
        resumed=checkpoints.resumed if checkpoints else 0,
        environment=environment.describe() | {"torch_threads": torch.get_num_threads()} | several,
        **tested.fields(),
    )
    alone = replace(compute, ranks=ALONE)
    return Run(record, plan, prepared.model, prepared.scaler, given, scored_on=(prepared.eval, alone))


def _describe(dataset: Dataset) -> dict[str, Any]:
    split = dataset.require_split()
    return {
        "name": dataset.name,
        "path": str(dataset.path) if dataset.path else None,
        "digest": dataset.digest,
        "digest_without_split": dataset.digest_without_split,
        "source": dataset.source,
        "num_nodes": dataset.num_nodes,
        "num_edges": dataset.graph.num_edges,
        "classes": list(dataset.classes),
        "split": [part.size for part in (split.train, split.val, split.test)],
        **({"direction": dataset.graph.direction} if dataset.graph.direction != "both" else {}),
        **({"notes": list(dataset.warnings)} if dataset.warnings else {}),
    }


def _features(dataset: Dataset) -> dict[str, Any]:
    optional = {
        "feature_names": list(dataset.feature_names),
        "encoding": msgspec.to_builtins(list(dataset.encoding)),
    }
    return {"num_features": dataset.num_features, **{name: values for name, values in optional.items() if values}}
