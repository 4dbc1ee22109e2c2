"""The operators that take the time of an epoch, by torch's profiler."""

import os
from collections.abc import Callable
from typing import Any

import torch
from torch.profiler import ProfilerActivity

from mggcn.bench import _clock

_TOP = 12


def profile(task: Callable[[], object], device: torch.device) -> list[dict[str, Any]]:
    """The operators (on a GPU, the kernels) with the most time in one call, without their callees: name, ms, calls."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler prints messages otherwise
    on_gpu = device.type == "cuda"
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    with torch.profiler.profile(activities=activities, acc_events=True) as profiler:
        task()
        _clock.synchronize(device)
    events = profiler.key_averages()
    field = "self_device_time_total" if on_gpu else "self_cpu_time_total"
    rows = [{"name": event.key, "ms": getattr(event, field) / 1e3, "calls": event.count} for event in events]
    return sorted((row for row in rows if row["ms"] > 0), key=lambda row: -row["ms"])[:_TOP]
