"""Numba kernels: compiled on their first call and cached on disk; a long compilation is announced on stderr."""

import logging
import sys
import time
from collections.abc import Callable
from threading import Timer
from typing import Any, TypeVar

import numpy as np
from numba import njit
from numba.core.event import Event, Listener, register
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
AnyInts = NDArray[Any]  # int32 or int64

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_log = logging.getLogger(__name__)

_unannounced: dict[Any, tuple[str, float]] = {}  # the name of a kernel, and its seconds without a message


def compiled(function: Kernel, patience: float = 1.0) -> Kernel:
    """Compile a kernel on its first call, or load it from numba's cache; it runs without the interpreter lock.

    A compilation of more than ``patience`` seconds is announced.
    """
    kernel = njit(nogil=True, cache=True, error_model="numpy")(function)
    _unannounced[kernel] = function.__name__.lstrip("_"), patience
    return kernel  # type: ignore[no-any-return]


class _Announcer(Listener):  # type: ignore[misc]
    """Prints the name of a kernel that numba compiles, once; kernels loaded from the cache trigger no event."""

    def __init__(self) -> None:
        self._timers: dict[Any, Timer] = {}
        self._started: dict[Any, float] = {}

    def on_start(self, event: Event) -> None:
        kernel = event.data["dispatcher"]
        self._started[kernel] = time.perf_counter()
        if waiting := _unannounced.get(kernel):
            timer = self._timers[kernel] = Timer(waiting[1], _announce, [kernel])
            timer.daemon = True
            timer.start()

    def on_end(self, event: Event) -> None:
        kernel = event.data["dispatcher"]
        if timer := self._timers.pop(kernel, None):
            timer.cancel()
        seconds = time.perf_counter() - self._started.pop(kernel, time.perf_counter())
        if kernel.py_func.__module__.startswith("mggcn."):  # not numba's own functions
            name, phase = kernel.py_func.__name__.lstrip("_"), {"phase": "compile", "seconds": seconds}
            _log.debug("compiled the kernel %s in %.2f s", name, seconds, extra=phase)


def _announce(kernel: Any) -> None:
    if waiting := _unannounced.pop(kernel, None):
        sys.stderr.write(f"compiling the kernel '{waiting[0]}', once on this machine ...\n")
        sys.stderr.flush()


register("numba:compile", _Announcer())
