"""Jobs: single runs of an experiment, trained one after the other or in several processes that share the cores.

A process loads the data set and trains one job after the other. All write to one ledger, which is locked for each line.
A process that dies, for example because the memory is too small, loses only its current run; a process whose parent
dies ends at once. ``concurrent.futures`` and ``multiprocessing.Pool`` are not used: the first gives up all runs when
one process is killed, the second waits forever.
"""

import multiprocessing
import os
import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from mggcn.data import Dataset, Split
from mggcn.errors import InputError, InputWarning
from mggcn.experiments._records import Ledger
from mggcn.kernels import threads
from mggcn.runs import Plan, continued, fit_plan
from mggcn.training import Progress, RunRecord, Silent

Load = Callable[[], Dataset]


@dataclass(frozen=True)
class Job:
    """One run of a variant; variants with the same settings share a run."""

    label: str
    plan: Plan

    @property
    def title(self) -> str:
        """The variant, the split and the seed."""
        return f"{self.label} {self.number}"

    @property
    def number(self) -> str:
        """The split and the seed."""
        split = self.plan.data.split_seed
        return f"{'' if split is None else f'split {split} '}seed {self.plan.seed}"


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a job: the record of its run, or the reason why there is none."""

    job: Job
    record: RunRecord | None
    reason: str = ""


def recall(jobs: Iterable[Job], ledger: Ledger) -> list[Outcome]:
    """The outcomes of the jobs whose records are in the ledger."""
    return [Outcome(job, ledger.records[job.plan.digest]) for job in jobs if job.plan.digest in ledger.records]


def execute(
    dataset: Dataset,
    jobs: Iterable[Job],
    ledger: Ledger,
    watch: Callable[[Job], Progress],
    warm: set[str] | None = None,
    *,
    few: int = 512,
) -> Iterator[Outcome]:
    """Train the jobs whose records are not in the ledger.

    A run that fails or cannot start (a package is missing, the memory is too small, it diverges) leaves its reason and
    does not stop the others; it is tried again the next time. A run that is interrupted continues the next time from
    its last checkpoint.

    Before the first run of a variant, one epoch is trained that is not recorded, so that no record includes loading
    libraries and compiling kernels: on a CPU with ``few`` targets of each part at most, on a GPU with all of them,
    because kernels are compiled for shapes. ``warm`` holds the labels of the variants that this process has already
    trained; new ones are added.
    """
    warm = set() if warm is None else warm
    for job in [job for job in jobs if job.plan.digest not in ledger.records]:
        if job.plan.digest not in ledger.records:
            progress = watch(job)
            split = job.plan.data.split_seed
            data = dataset if split is None else random_split(dataset, split)
            try:
                if job.label not in warm:
                    part = _with_few_targets(data, few) if job.plan.device.type == "cpu" else data
                    one_epoch = replace(job.plan, training=replace(job.plan.training, epochs=1))
                    with warnings.catch_warnings(action="ignore", category=InputWarning):  # of few targets
                        fit_plan(part, one_epoch)
                    warm.add(job.label)
                with continued(ledger.unfinished(job.plan.digest), job.plan, progress) as checkpoints:
                    ledger.add(job.plan.digest, fit_plan(data, job.plan, progress, checkpoints).record)
            except InputError as error:
                yield Outcome(job, None, str(error))
                continue
        yield Outcome(job, ledger.records[job.plan.digest])


def _with_few_targets(dataset: Dataset, most: int) -> Dataset:
    """The same graph with the same classes, and at most ``most`` evenly spaced nodes of each part of the split."""
    if (split := dataset.split) is None:
        return dataset
    return dataset.with_split(Split(*(part[:: -(-part.size // most)] for part in (split.train, split.val, split.test))))


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


def execute_in_processes(load: Load, jobs: Iterable[Job], ledger: Ledger, processes: int) -> Iterator[Outcome]:
    """Like :func:`execute`, in several processes that share the cores.

    ``load`` returns the data set; it is called in each process, so it must pickle.
    """
    sharing: dict[str, list[Job]] = {}
    for job in jobs:
        if job.plan.digest not in ledger.records:
            sharing.setdefault(job.plan.digest, []).append(job)
    waiting = deque(group[0] for group in sharing.values())
    slots = deque(threads.shares(processes))
    busy: dict[Connection, tuple[BaseProcess, Job]] = {}

    def assign(pipe: Connection, process: BaseProcess) -> None:
        busy[pipe] = (process, waiting.popleft())
        with suppress(OSError):  # the process died, which the next read from the pipe reports
            pipe.send(busy[pipe][1])

    try:
        while waiting or busy:
            while waiting and len(busy) < processes:
                slots.rotate(-1)
                with _signals_held():
                    assign(*_start(load, ledger.path, slots[0]))
            ready = wait(list(busy))
            for pipe in [each for each in busy if each in ready]:
                process, job = busy.pop(pipe)
                outcome = _receive(pipe)
                if outcome is None:
                    process.join()
                    outcome = Outcome(job, None, f"its process ended with exit code {process.exitcode}")
                if process.is_alive() and waiting:
                    assign(pipe, process)
                else:
                    pipe.close()
                if outcome.record is not None:
                    ledger.records[job.plan.digest] = outcome.record
                for each in sharing[job.plan.digest]:
                    yield Outcome(each, outcome.record, outcome.reason)
    finally:
        for process, _ in busy.values():
            process.terminate()
            process.join()


@contextmanager
def _signals_held() -> Iterator[None]:
    """Handle Ctrl-C and SIGTERM after this block, in which a process starts: it receives all that it needs.

    The process inherits that Ctrl-C is blocked, so that it does not end with a traceback while it imports libraries.
    """
    resource_tracker.ensure_running()  # else it starts with the process, and its start unblocks Ctrl-C
    held: list[tuple[int, FrameType | None]] = []
    numbers = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    handlers = {number: signal.signal(number, lambda *received: held.append(received)) for number in numbers}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for name, handler in handlers.items():
            signal.signal(name, handler)
        for number, frame in held[:1]:
            if callable(first := handlers[signal.Signals(number)]):
                first(number, frame)
            else:
                signal.raise_signal(number)


def _start(load: Load, path: Path, cores: list[int]) -> tuple[Connection, BaseProcess]:
    context = multiprocessing.get_context("spawn")
    pipe, other = context.Pipe()
    process = context.Process(target=_serve, args=(other, load, path, cores), daemon=True)
    process.start()
    other.close()
    return pipe, process


def _receive(pipe: Connection) -> Any:
    """What the other process sent; None if there is no more or it ended."""
    try:
        return pipe.recv()
    except (EOFError, OSError):
        return None


def _serve(pipe: Connection, load: Load, path: Path, cores: list[int]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it; libraries may unblock what it was started with
    threading.Thread(target=_end_with_parent, daemon=True).start()
    threads.confine(cores)
    torch.set_num_threads(len(cores))
    dataset: Dataset | None = None
    warm: set[str] = set()
    while job := _receive(pipe):
        try:
            if dataset is None:
                dataset = load()
            ledger = Ledger(path)
            outcomes = recall([job], ledger) or execute(dataset, [job], ledger, lambda _: Silent(), warm)
            outcome = next(iter(outcomes))
        except InputError as error:
            outcome = Outcome(job, None, str(error))
        with suppress(OSError):  # the parent ended
            pipe.send(outcome)


def _end_with_parent() -> None:
    """Wait until the parent ended, for whatever reason, and end this process even during a run."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
