"""Runs in parallel: processes that each load the data set and train one job after the other.

All write to one ledger, which is locked while a line is written. A process that dies, for example because the memory
is too small, loses only its current run; a process whose parent dies ends at once. ``concurrent.futures`` and
``multiprocessing.Pool`` are not used: the first gives up all runs when one process is killed, the second waits forever.
"""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType

import torch

from mggcn.data import Dataset
from mggcn.errors import InputError
from mggcn.experiments import _execution
from mggcn.experiments._ledger import Ledger
from mggcn.experiments._schedule import Job, Outcome, recall
from mggcn.kernels import threads
from mggcn.training import Silent

Load = Callable[[], Dataset]


def execute(load: Load, jobs: Iterable[Job], ledger: Ledger, processes: int) -> Iterator[Outcome]:
    """Like :func:`mggcn.experiments._execution.execute`, in several processes that share the cores.

    ``load`` returns the data set; it is called in each process, so it must pickle.
    """
    sharing: dict[str, list[Job]] = {}
    for job in jobs:
        if job.plan.digest not in ledger.records:
            sharing.setdefault(job.plan.digest, []).append(job)
    waiting = deque(group[0] for group in sharing.values())
    slots = deque(threads.shares(processes))
    busy: dict[Connection, tuple[BaseProcess, Job]] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < processes:
                slots.rotate(-1)
                with _signals_held():
                    pipe, process = _start(load, ledger.path, slots[0])
                    busy[pipe] = (process, waiting.popleft())
                _send(pipe, busy[pipe][1])
            ready = wait(list(busy))
            for pipe in [each for each in busy if each in ready]:
                process, job = busy.pop(pipe)
                outcome = _result(pipe, process, job)
                if process.is_alive() and waiting:
                    busy[pipe] = (process, waiting.popleft())
                    _send(pipe, busy[pipe][1])
                else:
                    _send(pipe, None)
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


def _send(pipe: Connection, message: Job | Outcome | None) -> None:
    try:
        pipe.send(message)
    except OSError:
        return  # the process died, which the next read from the pipe reports


def _receive(pipe: Connection) -> Job | Outcome | None:
    """What the other process sent; None if there is no more or it ended."""
    try:
        message: Job | Outcome | None = pipe.recv()
    except (EOFError, OSError):
        return None
    return message


def _result(pipe: Connection, process: BaseProcess, job: Job) -> Outcome:
    outcome = _receive(pipe)
    if isinstance(outcome, Outcome):
        return outcome
    process.join()
    return Outcome(job, None, f"its process ended with exit code {process.exitcode}")


def _serve(pipe: Connection, load: Load, path: Path, cores: list[int]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it; libraries may unblock what it was started with
    threading.Thread(target=_end_with_parent, daemon=True).start()
    threads.confine(cores)
    torch.set_num_threads(len(cores))
    dataset: Dataset | None = None
    warm: set[str] = set()
    while isinstance(job := _receive(pipe), Job):
        try:
            if dataset is None:
                dataset = load()
            ledger = Ledger(path)
            outcomes = recall([job], ledger) or _execution.execute(dataset, [job], ledger, lambda _: Silent(), warm)
            _send(pipe, next(iter(outcomes)))
        except InputError as error:
            _send(pipe, Outcome(job, None, str(error)))


def _end_with_parent() -> None:
    """Wait until the parent ended, for whatever reason, and end this process even during a run."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
