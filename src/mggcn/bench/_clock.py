"""Timing: a warm-up, then rounds in which all tasks take turns, so that a busy moment of the machine affects all."""

import time
from collections.abc import Callable, Mapping

import torch

Task = Callable[[], object]


def once(task: Task, device: torch.device) -> float:
    """The seconds of one call, with the device synchronised before and after."""
    synchronize(device)
    started = time.perf_counter()
    task()
    synchronize(device)
    return time.perf_counter() - started


def rounds(tasks: Mapping[str, Task], repeats: int, device: torch.device) -> dict[str, list[float]]:
    """The seconds of each task in ``repeats`` rounds, after a warm-up round."""
    timed = [{name: once(task, device) for name, task in tasks.items()} for _ in range(repeats + 1)]
    return {name: [seconds[name] for seconds in timed[1:]] for name in tasks}


def synchronize(device: torch.device) -> None:
    """Wait until the device has finished all its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
