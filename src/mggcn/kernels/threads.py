"""Run a compiled kernel over a range of rows on several threads.

The kernels release the interpreter lock, so plain threads run them in parallel. Unlike numba's parallel loops, this
needs no threading layer, may be called from several threads at once, and works after a fork.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


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
