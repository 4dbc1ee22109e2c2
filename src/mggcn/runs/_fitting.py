"""Training a method on a data set: prepare, train, test, and record what happened."""

import logging
import statistics
import time
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn.data import Dataset
from mggcn.errors import InputError
from mggcn.keys import Key
from mggcn.runs._matching import match
from mggcn.runs._plan import Plan
from mggcn.runs._run import Run
from mggcn.runs._scorer import calibration_nodes
from mggcn.training import (
    ALONE,
    Checkpoints,
    Fit,
    Inference,
    NotedProgress,
    Progress,
    Ranks,
    RunRecord,
    Silent,
    Tally,
    calibrated,
    choose_temperature,
    environment,
    epoch_seconds,
    near_best,
    nodes_per_batch,
    packed_bits,
    ranking_of,
    seconds_until,
    train,
)

RANKED = 1_000_000
"""The most test nodes whose probabilities are kept to measure how well they rank; more are selected by hash."""

_log = logging.getLogger(__name__)


def fit_plan(
    dataset: Dataset,
    plan: Plan,
    progress: Progress | None = None,
    checkpoints: Checkpoints | None = None,
    origin: Run | None = None,
    ranks: Ranks = ALONE,
) -> Run:
    """Train a method whose settings are resolved, see :func:`fit`; open checkpoints are continued and written.

    With ``origin``, the model starts with the weights and scaling of that run, so it first scores nodes as that run
    does. The run of every rank has the same weights and metrics.
    """
    given, device = dataset, plan.device
    key, compute = Key.of(plan.seed), plan.compute(device, ranks, dataset)
    _log.info(
        "%s on %s, seed %d, on %s with %d threads", plan.name, dataset.name, plan.seed, device, torch.get_num_threads()
    )
    environment.reset_peak(device)
    started = time.perf_counter()
    if origin is None:
        prepared = plan.prepare(dataset, key, compute)
    else:
        dataset = _matched(dataset, plan, origin)
        prepared = plan.prepare(dataset, key, compute, origin.model.state_dict(), origin.scaler)
    prepare_seconds = time.perf_counter() - started
    prepare_peak = environment.peak(device)
    parts = (type(part).__name__ for part in (prepared.train.inputs, prepared.train.sampler))
    phase = {"phase": "prepare", "seconds": prepare_seconds}
    _log.debug("inputs: %s, sampler: %s, prepared in %.2f s", *parts, prepare_seconds, extra=phase)
    fit = Fit(prepared, dataset, plan.training, key, compute)
    ranks.every(None)  # some prepare longer than others
    if ranks.size > 1 and not prepared.train.sampler.draws_per_target:
        raise InputError(f"{plan.name}: {ranks.size} ranks cannot train it, because its sampler draws whole batches")
    unused = plan.unused_parts(given.graph)
    if isinstance(progress, NotedProgress):
        for note in (*([unused] if unused else []), *prepared.notes):
            progress.note(note)
        if dataset.mapped is not None and (seconds := epoch_seconds(fit)) is not None:
            progress.note(f"an epoch takes about {seconds:.1f} s")
    fitted = train(fit, progress or Silent(), checkpoints)
    curve, trained_seconds = fitted.curve, time.perf_counter() - started
    tested, scored_seconds = _test(fit)
    seconds = time.perf_counter() - started - trained_seconds
    _log.debug("tested in %.2f s", seconds, extra={"phase": "test", "seconds": seconds})
    _log.info(
        "prepared in %.2f s, trained %d epochs in %.2f s, scored %d test nodes in %.2f s",
        prepare_seconds,
        len(curve),
        trained_seconds - prepare_seconds,
        fit.split.test.size,
        scored_seconds,
    )
    state = checkpoints.state if checkpoints else None
    several = {"ranks": ranks.size} if ranks.size > 1 else {}
    plan = replace(plan, training=replace(plan.training, scaling=prepared.scaler.kind))
    record = RunRecord(
        dataset=_describe(given, dataset, unused),
        **plan.record_fields,
        split_seed=fit.split.seed,
        epochs=len(curve),
        best_epoch=fitted.best_epoch,
        val_loss=fitted.val.loss,
        val_accuracy=fitted.val.accuracy,
        val_macro_f1=fitted.val.macro_f1,
        epoch_seconds=statistics.median([epoch.train_seconds for epoch in curve] or [0.0]),
        prepare_seconds=prepare_seconds,
        seconds_to_best=seconds_until(fitted.best_epoch, prepare_seconds, curve),
        seconds_to_near_best=seconds_until(near_best(curve), prepare_seconds, curve),
        total_seconds=trained_seconds + scored_seconds + (state.seconds if state else 0.0),
        peak_memory_bytes=max(prepare_peak, fitted.first_peak or 0, environment.peak(device)),
        training_memory_bytes=fitted.first_peak,
        nodes_per_batch=nodes_per_batch(fit) if curve else 0.0,
        curve=curve,
        resumed=checkpoints.resumed if checkpoints else 0,
        environment=environment.describe() | {"torch_threads": torch.get_num_threads()} | several,
        **tested,
    )
    alone = replace(Inference.of(fit), compute=replace(compute, ranks=ALONE))
    return Run(record, plan, prepared.model, prepared.scaler, given, prepared=[(given, alone)])


def _matched(dataset: Dataset, plan: Plan, origin: Run) -> Dataset:
    """The data set with the features of the run to start from; InputError if the plan or the classes do not fit it."""
    if plan.name != origin.record.method:
        raise InputError(f"warm start: {origin.record.method} was trained, so {plan.name} cannot start from it")
    scaling, classes = origin.record.settings["scaling"], ", ".join(origin.classes)
    if plan.training.scaling != scaling:
        raise InputError(f"scaling: {plan.training.scaling}, but the run to start from has {scaling}")
    if dataset.classes != origin.classes:
        own = ", ".join(dataset.classes)
        raise InputError(f"{dataset.name}: classes {own}, but the run to start from has {classes}")
    return match(dataset, origin.record, plan.method.edge_parts)


def _test(fit: Fit) -> tuple[dict[str, Any], float]:
    """Fit the temperature on validation nodes, and measure the test nodes: fields of a record, and the seconds."""
    dataset, split, temperature = fit.dataset, fit.split, 1.0
    val, ranked = calibration_nodes(dataset, fit.key), fit.key.fold("ranking").select(split.test, RANKED)
    inference = Inference.of(fit)
    val_scores = inference.predict(val)
    if not fit.training.background_prior:
        temperature = choose_temperature(val_scores.cpu().numpy(), dataset.y[val])
    started, first = time.perf_counter(), 0
    tally, raw = (Tally(dataset.num_classes, fit.compute.device) for _ in range(2))
    kept: list[NDArray[np.float64]] = []
    right: list[NDArray[np.bool_]] = []
    for scores in inference.predict_chunks(split.test):
        nodes = split.test[first : first + len(scores)]
        y = torch.from_numpy(dataset.y[nodes]).to(fit.compute.device)
        p = _probabilities(calibrated(scores, temperature))
        tally.add(scores, y, p)
        raw.add(scores, y, _probabilities(scores))
        right.append((scores.argmax(dim=1) == y).cpu().numpy())
        kept.append(p if ranked.size == split.test.size else p[np.isin(nodes, ranked)])
        first += len(scores)
    seconds, val_p = time.perf_counter() - started, _probabilities(calibrated(val_scores, temperature))
    measured = {
        "test_accuracy": tally.scores.accuracy,
        "test_macro_f1": tally.scores.macro_f1,
        "test_confusion": tally.confusion,
        "temperature": temperature,
        "test_ece": tally.calibration_error,
        "test_ece_uncalibrated": raw.calibration_error,
        "ranking": ranking_of(val_p, dataset.y[val], np.concatenate(kept), dataset.y[ranked]),
        "test_right": packed_bits(np.concatenate(right)),
    }
    return measured, seconds


def _probabilities(log_probabilities: Tensor) -> NDArray[np.float64]:
    return np.asarray(log_probabilities.exp().cpu().numpy(), np.float64)


def _describe(dataset: Dataset, trained: Dataset, unused: str) -> dict[str, Any]:
    """The data set of a record, with what the method does not use of it, and the features of the model.

    A warm start may have matched the features.
    """
    split = dataset.require_split()
    optional = {
        "direction": dataset.graph.direction if dataset.graph.direction != "both" else None,
        "edges": None if trained.graph.schema.is_plain else msgspec.to_builtins(trained.graph.schema),
        "notes": [*dataset.warnings, *([unused] if unused else [])],
        "feature_names": list(trained.feature_names),
        "encoding": msgspec.to_builtins(list(trained.encoding)),
    }
    return {
        "name": dataset.name,
        "path": str(dataset.path) if dataset.path else None,
        "digest": dataset.digest,
        "digest_without_split": dataset.digest_without_split,
        "source": dataset.source,
        "num_nodes": dataset.num_nodes,
        "num_edges": dataset.graph.num_edges,
        "num_features": trained.num_features,
        "classes": list(dataset.classes),
        "split": [part.size for part in (split.train, split.val, split.test)],
        **{name: value for name, value in optional.items() if value},
    }
