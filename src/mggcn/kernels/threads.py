"""Run a compiled kernel over a range of rows on several threads; and choose how many threads torch uses.

The kernels release the interpreter lock, so plain threads run them in parallel. Unlike numba's parallel loops, this
needs no threading layer, may be called from several threads at once, and works after a fork.

The threads of torch wait for each other in every operation. Where other processes compute, too, one that has no core
stops all, and a single thread can be several times faster.
"""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

_SHAPE = (1024, 512, 128)  # of the product that is timed: some milliseconds in all
_ROUNDS, _PRODUCTS = 5, 4
_MOST_SECONDS = 0.2
_GAIN = 0.9  # of one thread's time; with less gain, the other cores are left to others


def available() -> int:
    """The number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def shares(processes: int) -> list[list[int]]:
    """Distribute the cores that this process may use; with fewer cores than processes, some share a core."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(available()))
    return [cores[number::processes] or [cores[number % len(cores)]] for number in range(processes)]


def confine(cores: list[int]) -> None:
    """Restrict this process, with all its libraries, to some cores if the system supports it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


@contextmanager
def chosen() -> Iterator[int]:
    """Let torch use all cores or one thread, whichever is faster at this moment, and yield their number.

    Results do not depend on it. A number that was set, by ``OMP_NUM_THREADS`` or ``torch.set_num_threads``, stays.
    """
    import torch  # commands that need no torch count cores, too

    before = torch.get_num_threads()
    if before == 1 or before != available() or "OMP_NUM_THREADS" in os.environ:
        yield before
        return
    try:
        fastest = _fastest(before)
        torch.set_num_threads(fastest)
        yield fastest
    finally:
        torch.set_num_threads(before)


def _fastest(threads: int) -> int:
    """``threads`` if short products, taking turns, are clearly faster on so many than on one; else 1."""
    import torch

    rows, width, channels = _SHAPE
    x, weight = torch.ones(rows, width), torch.ones(width, channels)
    spent = {1: 0.0, threads: 0.0}
    for number in range(-1, _ROUNDS):  # the first round is a warm-up
        for count in spent:
            torch.set_num_threads(count)
            started = time.perf_counter()
            for _ in range(_PRODUCTS):
                (x @ weight).relu_()
            spent[count] += (time.perf_counter() - started) * (number >= 0)
        if sum(spent.values()) > _MOST_SECONDS:
            break
    return threads if spent[threads] < _GAIN * spent[1] else 1


def over_ranges(kernel: Callable[[int, int], None], total: int, *, chunk: int, threads: int | None = None) -> None:
    """Call ``kernel(start, stop)`` for consecutive ranges that cover 0 … total, ``chunk`` long each."""
    starts = range(0, total, chunk)
    workers = min(threads or available(), len(starts))
    if workers <= 1:
        kernel(0, total)
        return
    waiting = iter(starts)

    def work() -> None:
        for start in waiting:  # all threads share the iterator, each range is for one of them
            kernel(start, min(start + chunk, total))

    with ThreadPoolExecutor(workers) as pool:
        for worker in [pool.submit(work) for _ in range(workers)]:
            worker.result()


def over_rows(kernel: Callable[[int, int], None], rows: int, work: int, *, chunk: int, threads: int | None) -> None:
    """Call ``kernel(start, stop)`` for ranges of rows with a ``chunk`` of the work each.

    Small work runs without threads, which cost more than they save.
    """
    over_ranges(kernel, rows, chunk=max(1, -(-rows // max(1, work // chunk))), threads=threads)
