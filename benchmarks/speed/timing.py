"""Timing, profiling and what a section measured; and how fast the machine reads memory, copies it and multiplies."""

import math
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray
from torch.profiler import ProfilerActivity

from mggcn.kernels import threads as threading

Task = Callable[[], object]

BYTES = 1 << 29
CHUNK = 1 << 22
SIDE = 8192
TOP = 12
SHORT = 0.2  # seconds; shorter tasks are timed several times in a row


@dataclass
class Measurements:
    """Figures, ratios and facts, ready for JSON.

    Attributes:
        figures: by name: label, unit, median, min, max, repeats, and ``scaled`` if only a part was measured.
        ratios: by name: label, value, and the figures ``over`` and ``under`` whose medians it divides.
        facts: the counts and settings behind the figures.
        notes: one line each on what could not be measured or how a figure was measured.
    """

    figures: dict[str, dict[str, Any]] = field(default_factory=dict)
    ratios: dict[str, dict[str, Any]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(
        self, name: str, label: str, values: Sequence[float], *, unit: str = "s", factor: float = 1.0, basis: str = ""
    ) -> None:
        """Add a figure from one value per repeat.

        Each value is multiplied by ``factor``, to a whole from a measured part or to another unit; ``basis`` describes
        the part that was measured, if it was not the whole.
        """
        scaled = [value * factor for value in values]
        figure = {"label": label, "unit": unit, "median": statistics.median(scaled)}
        figure |= {"min": min(scaled), "max": max(scaled), "repeats": len(scaled)}
        self.figures[name] = figure | ({"scaled": factor, "basis": basis} if basis else {})

    def add_ratio(self, name: str, label: str, over: str, under: str) -> None:
        """Add the ratio of two figures' medians."""
        value = float(self.figures[over]["median"] / self.figures[under]["median"])
        self.ratios[name] = {"label": label, "value": value, "over": over, "under": under}

    @classmethod
    def median_of(cls, runs: "Sequence[Measurements]") -> "Measurements":
        """The medians of several runs, with the least and the largest of them; facts are those of the first run."""
        if len(runs) == 1:
            return runs[0]
        first = runs[0]
        whole = cls(
            facts={**first.facts, "runs": len(runs)}, notes=[*dict.fromkeys(n for run in runs for n in run.notes)]
        )
        for name, figure in first.figures.items():
            if medians := [run.figures[name]["median"] for run in runs if name in run.figures]:
                whole.add(name, figure["label"], medians, unit=figure["unit"])
                kept: dict[str, Any] = {key: figure[key] for key in ("scaled", "basis") if key in figure}
                whole.figures[name] |= kept
        for name, ratio in first.ratios.items():
            values = [run.ratios[name]["value"] for run in runs if name in run.ratios]
            spread = {"value": statistics.median(values), "min": min(values), "max": max(values), "runs": len(values)}
            whole.ratios[name] = ratio | spread
        return whole


def once(task: Task, device: torch.device) -> float:
    """The seconds of one call, with the device synchronised before and after."""
    _synchronize(device)
    started = time.perf_counter()
    task()
    _synchronize(device)
    return time.perf_counter() - started


def in_a_row(task: Task, device: torch.device) -> int:
    """How often a task is to be called in a row to be timed; 1 if it is not short."""
    return max(1, math.ceil(SHORT / once(task, device)))


def repeated(task: Task, times: int) -> Task:
    """Call a task some times in a row."""

    def call() -> None:
        for _ in range(times):
            task()

    return call


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
    return sorted((row for row in rows if row["ms"] > 0), key=lambda row: -row["ms"])[:TOP]


@njit(nogil=True, cache=True, fastmath=True)  # type: ignore[untyped-decorator]
def _sum(values: NDArray[np.float32], start: int, stop: int) -> np.float32:
    total = np.float32(0)
    part = values[start:stop]
    for i in range(part.size):
        total += part[i]
    return total


def read_rates(repeats: int, threads: int) -> list[float]:
    """Bytes per second of reading a large array from start to end, one value per repeat."""
    values = np.ones(BYTES // 4, np.float32)
    read = partial(threading.over_ranges, partial(_sum, values), values.size, chunk=CHUNK, threads=threads)
    return [values.nbytes / seconds for seconds in rounds({"": read}, repeats, torch.device("cpu"))[""]]


def copy_rates(repeats: int, device: torch.device) -> list[float]:
    """Bytes per second, read and written, of copying a large array inside the device."""
    source = torch.ones(BYTES, dtype=torch.int32, device=device)
    target = torch.empty_like(source)
    copy = partial(target.copy_, source)
    return [2 * source.nbytes / seconds for seconds in rounds({"": copy}, repeats, device)[""]]


def product_rates(repeats: int, device: torch.device, *, tf32: bool) -> list[float]:
    """Operations per second of a large float32 product, with or without tf32."""
    left, right = (torch.randn(SIDE, SIDE, device=device) for _ in range(2))
    multiply = partial(torch.mm, left, right, out=torch.empty_like(left))
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    try:
        return [2 * SIDE**3 / seconds for seconds in rounds({"": multiply}, repeats, device)[""]]
    finally:
        torch.set_float32_matmul_precision(before)
