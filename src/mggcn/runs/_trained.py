"""One recipe: prepared and trained, and the record of what happened when it is tested."""

import logging
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import msgspec
import torch

from mggcn.data import Dataset
from mggcn.errors import InputError
from mggcn.keys import Key
from mggcn.methods import Shared
from mggcn.runs._matching import match
from mggcn.runs._plan import Plan
from mggcn.runs._run import Run
from mggcn.runs._testing import Calibrated
from mggcn.training import (
    ALONE,
    Checkpoints,
    Epoch,
    Fit,
    Fitted,
    Inference,
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


@dataclass(frozen=True, eq=False)
class Trained:
    """A model that is trained and not tested yet.

    Attributes:
        plan: with the scaling that was chosen.
        given: the data set; that of ``fit`` may have other features.
        fit: the model and what it is scored with.
        fitted: the curve and the best epoch.
        prepare_seconds: time for preparing.
        seconds: time for preparing and training, also before an interrupt.
        peak: the largest memory so far.
        resumed: how often training was resumed.
        is_stopped: whether training was stopped because it was behind.
    """

    plan: Plan
    given: Dataset
    fit: Fit
    fitted: Fitted
    prepare_seconds: float
    seconds: float
    peak: int
    resumed: int
    is_stopped: bool

    @classmethod
    def by(
        cls,
        dataset: Dataset,
        plan: Plan,
        progress: Progress | None = None,
        checkpoints: Checkpoints | None = None,
        origin: Run | None = None,
        ranks: Ranks = ALONE,
        shared: Shared | None = None,
        is_behind: Callable[[Sequence[Epoch]], bool] = lambda _: False,
    ) -> "Trained":
        """Train the recipe of a plan; see :func:`mggcn.runs._fitting.fit_plan`.

        Args:
            dataset: with a split.
            plan: without a portfolio.
            progress: is called with every epoch.
            checkpoints: open ones, which are continued and written.
            origin: the run whose weights and scaling the model starts with.
            ranks: that train together.
            shared: what other recipes of a portfolio have prepared and noted.
            is_behind: whether training stops early, by the epochs so far.
        """
        given, device, shared = dataset, plan.device, shared or Shared()
        key, compute = Key.of(plan.seed), plan.compute(device, ranks, dataset)
        threads = torch.get_num_threads()
        _log.info("%s on %s, seed %d, on %s with %d threads", plan.name, dataset.name, plan.seed, device, threads)
        environment.reset_peak(device)
        started = time.perf_counter()
        if origin is None:
            prepared = plan.prepare(dataset, key, compute, shared=shared)
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
            raise InputError(
                f"{plan.name}: {ranks.size} ranks cannot train it, because its sampler draws whole batches"
            )
        unused = plan.unused_parts(dataset)
        if isinstance(progress, NotedProgress):
            for note in (*([unused] if unused else []), *prepared.notes):
                shared.once(("note", note), partial(progress.note, note))
            if dataset.mapped is not None and (seconds := epoch_seconds(fit)) is not None:
                progress.note(f"an epoch takes about {seconds:.1f} s")
        fitted = train(fit, progress or Silent(), checkpoints, is_behind)
        state = checkpoints.state if checkpoints else None
        seconds = time.perf_counter() - started + (state.seconds if state else 0.0)
        times = prepare_seconds, len(fitted.curve), seconds - prepare_seconds
        _log.info("prepared in %.2f s, trained %d epochs in %.2f s", *times)
        return cls(
            replace(plan, training=replace(plan.training, scaling=prepared.scaler.kind)),
            given,
            fit,
            fitted,
            prepare_seconds,
            seconds,
            max(prepare_peak, fitted.first_peak or 0, environment.peak(device)),
            checkpoints.resumed if checkpoints else 0,
            is_behind(fitted.curve),
        )

    @cached_property
    def calibrated(self) -> Calibrated:
        """The model with its temperature."""
        return Calibrated(self.fit)

    def run(self, tested: dict[str, Any], scored_seconds: float) -> Run:
        """The run with its record; ``tested`` are the fields that :func:`mggcn.runs._testing.score_test` returns."""
        fit, fitted, curve, ranks = self.fit, self.fitted, self.fitted.curve, self.fit.compute.ranks
        several = {"ranks": ranks.size} if ranks.size > 1 else {}
        record = RunRecord(
            dataset=_describe(self.given, fit.dataset, self.plan.unused_parts(fit.dataset)),
            **self.plan.record_fields,
            split_seed=fit.split.seed,
            epochs=len(curve),
            best_epoch=fitted.best_epoch,
            val_loss=fitted.val.loss,
            val_accuracy=fitted.val.accuracy,
            val_macro_f1=fitted.val.macro_f1,
            epoch_seconds=statistics.median([epoch.train_seconds for epoch in curve] or [0.0]),
            prepare_seconds=self.prepare_seconds,
            seconds_to_best=seconds_until(fitted.best_epoch, self.prepare_seconds, curve),
            seconds_to_near_best=seconds_until(near_best(curve), self.prepare_seconds, curve),
            total_seconds=self.seconds + scored_seconds,
            peak_memory_bytes=max(self.peak, environment.peak(self.plan.device)),
            training_memory_bytes=fitted.first_peak,
            nodes_per_batch=nodes_per_batch(fit) if curve else 0.0,
            curve=curve,
            resumed=self.resumed,
            environment=environment.describe() | {"torch_threads": torch.get_num_threads()} | several,
            **tested,
        )
        alone = replace(Inference.of(fit), compute=replace(fit.compute, ranks=ALONE))
        prepared = fit.prepared
        return Run(record, self.plan, prepared.model, prepared.scaler, self.given, prepared=[(self.given, alone)])


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
