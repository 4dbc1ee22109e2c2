"""Timing, profiling, and the limits of the machine: how fast it reads memory, copies memory and multiplies matrices."""

import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch.profiler import ProfilerActivity

from mggcn.kernels import threads as threading

Task = Callable[[], object]

_BYTES = 1 << 29
_CHUNK = 1 << 22
_SIDE = 8192
_TOP = 12


def once(task: Task, device: torch.device) -> float:
    """The seconds of one call, with the device synchronised before and after."""
    _synchronize(device)
    started = time.perf_counter()
    task()
    _synchronize(device)
    return time.perf_counter() - started


def rounds(tasks: Mapping[str, Task], repeats: int, device: torch.device) -> dict[str, list[float]]:
    """The seconds of each task in ``repeats`` rounds, after a warm-up round.

    In a round all tasks take turns, so that a busy moment of the machine affects all of them.
    """
    timed = [{name: once(task, device) for name, task in tasks.items()} for _ in range(repeats + 1)]
    return {name: [seconds[name] for seconds in timed[1:]] for name in tasks}


def _synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def profile(task: Task, device: torch.device) -> list[dict[str, Any]]:
    """The operators (on a GPU, the kernels) with the most time in one call, without their callees: name, ms, calls."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler prints messages otherwise
    on_gpu = device.type == "cuda"
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with torch.profiler.profile(activities=activities, acc_events=True) as profiler:
        task()
        _synchronize(device)
    events = profiler.key_averages()
    field = "self_device_time_total" if on_gpu else "self_cpu_time_total"
    rows = [{"name": event.key, "ms": getattr(event, field) / 1e3, "calls": event.count} for event in events]
    return sorted((row for row in rows if row["ms"] > 0), key=lambda row: -row["ms"])[:_TOP]


@njit(nogil=True, cache=True, fastmath=True)  # type: ignore[untyped-decorator]
def _sum(values: NDArray[np.float32], start: int, stop: int) -> np.float32:
    total = np.float32(0)
    part = values[start:stop]
    for i in range(part.size):
        total += part[i]
    return total


def read_rates(repeats: int, threads: int) -> list[float]:
    """Bytes per second of reading a large array from start to end, one value per repeat."""
    values = np.ones(_BYTES // 4, np.float32)
    read = partial(threading.over_ranges, partial(_sum, values), values.size, chunk=_CHUNK, threads=threads)
    return [values.nbytes / seconds for seconds in rounds({"": read}, repeats, torch.device("cpu"))[""]]


def copy_rates(repeats: int, device: torch.device) -> list[float]:
    """Bytes per second, read and written, of copying a large array inside the device."""
    source = torch.ones(_BYTES, dtype=torch.int32, device=device)
    target = torch.empty_like(source)
    copy = partial(target.copy_, source)
    return [2 * source.nbytes / seconds for seconds in rounds({"": copy}, repeats, device)[""]]


def product_rates(repeats: int, device: torch.device, *, tf32: bool) -> list[float]:
    """Operations per second of a large float32 product, with or without tf32."""
    left, right = (torch.randn(_SIDE, _SIDE, device=device) for _ in range(2))
    multiply = partial(torch.mm, left, right, out=torch.empty_like(left))
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    try:
        return [2 * _SIDE**3 / seconds for seconds in rounds({"": multiply}, repeats, device)[""]]
    finally:
        torch.set_float32_matmul_precision(before)
