"""Timing: warm up, then take turns, so that a busy moment of the machine hits all works alike."""

import time
from collections.abc import Callable, Mapping

import torch

Work = Callable[[], object]


def once(work: Work, device: torch.device) -> float:
    """Seconds of one call, the device's queue drained before and after."""
    drain(device)
    started = time.perf_counter()
    work()
    drain(device)
    return time.perf_counter() - started


def rounds(works: Mapping[str, Work], repeats: int, device: torch.device) -> dict[str, list[float]]:
    """Seconds of each work over ``repeats`` rounds, after one round of warm-up."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for number in range(repeats + 1):
        for name, work in works.items():
            taken = once(work, device)
            if number:
                seconds[name].append(taken)
    return seconds


def drain(device: torch.device) -> None:
    """Wait for all the device was asked to do."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
