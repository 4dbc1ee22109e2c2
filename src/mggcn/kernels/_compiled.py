"""Numba kernels: compiled on their first call and cached on disk; a long compilation is announced on stderr.

Also the hash of :mod:`mggcn.keys` for them, with identical results.
"""

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

from mggcn.keys import GOLDEN, MIX_1, MIX_2

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
AnyInts = NDArray[Any]  # int32 or int64

_GOLDEN, _MIX_1, _MIX_2 = np.uint64(GOLDEN), np.uint64(MIX_1), np.uint64(MIX_2)
_ONE, _LOW = np.uint64(1), np.uint64(0xFFFFFFFF)
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)

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


@njit(inline="always")
def fold(value, n):
    """Hash a 64-bit value with the counter n."""
    z = value + _GOLDEN * (np.uint64(n) + _ONE)
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@njit(inline="always")
def below(value, bound):
    """Map a 64-bit hash to 0 … bound - 1: the high 64 bits of value × bound."""
    a0, a1 = value & _LOW, value >> _S32
    b0, b1 = bound & _LOW, bound >> _S32
    middle = a1 * b0 + ((a0 * b0) >> _S32)
    return np.int64(a1 * b1 + (middle >> _S32) + ((a0 * b1 + (middle & _LOW)) >> _S32))


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
