"""Training the runs of an experiment that are not in its ledger, one after the other."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from mggcn.data import Dataset, Split
from mggcn.errors import InputError, InputWarning
from mggcn.experiments._ledger import Ledger
from mggcn.experiments._schedule import Job, Outcome
from mggcn.runs import continued, fit_plan
from mggcn.training import Progress

_FEW = 512


def execute(
    dataset: Dataset,
    jobs: Iterable[Job],
    ledger: Ledger,
    watch: Callable[[Job], Progress],
    warm: set[str] | None = None,
) -> Iterator[Outcome]:
    """Train the jobs whose records are not in the ledger.

    A run that fails or cannot start (a package is missing, the memory is too small, it diverges) leaves its reason and
    does not stop the others; it is tried again the next time. A run that is interrupted continues the next time from
    its last checkpoint. Before the first run of a variant, one epoch is trained
    that is not recorded, so that no record includes loading libraries and compiling kernels: on a CPU with few targets,
    on a GPU with all of them, because kernels are compiled for shapes. ``warm`` holds the labels of the variants that
    this process has already trained; new ones are added.
    """
    warm = set() if warm is None else warm
    for job in [job for job in jobs if job.plan.digest not in ledger.records]:
        if job.plan.digest not in ledger.records:
            progress = watch(job)
            split = job.plan.data.split_seed
            data = dataset if split is None else random_split(dataset, split)
            try:
                if job.label not in warm:
                    few = _with_few_targets(data) if job.plan.device.type == "cpu" else data
                    one_epoch = replace(job.plan, training=replace(job.plan.training, epochs=1))
                    with warnings.catch_warnings(action="ignore", category=InputWarning):  # of few targets
                        fit_plan(few, one_epoch)
                    warm.add(job.label)
                with continued(ledger.unfinished(job.plan.digest), job.plan, progress) as checkpoints:
                    ledger.add(job.plan.digest, fit_plan(data, job.plan, progress, checkpoints).record)
            except InputError as error:
                yield Outcome(job, None, str(error))
                continue
        yield Outcome(job, ledger.records[job.plan.digest])


def _with_few_targets(dataset: Dataset) -> Dataset:
    """The same graph with the same classes, and a few evenly spaced nodes of each part of the split."""
    if (split := dataset.split) is None:
        return dataset
    return dataset.with_split(Split(*(part[:: -(-part.size // _FEW)] for part in (split.train, split.val, split.test))))


def random_split(dataset: Dataset, seed: int) -> Dataset:
    """The data set with a random split of this seed, in the shares of its own; 60/20/20 if it has no split."""
    before = dataset.split
    if before is not None and before.seed is None:
        raise InputError(f"splits: {dataset.name} has a split of its own, and random ones are for data without one")
    split = Split.stratified(dataset.y, seed, before.shares) if before else Split.stratified(dataset.y, seed)
    source = (
        dataset.source.replace(f"split of seed {before.seed}", f"split of seed {seed}") if before else dataset.source
    )
    return replace(dataset, split=split, source=source, checked=True)
