"""Numba kernels that Python calls: compiled once on a machine, kept between runs, and never in silence."""

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_PATIENCE = 1.0


def compiled(function: Kernel) -> Kernel:
    """Compile a kernel on its first call, without the interpreter lock; a first call that takes long says why."""
    kernel = njit(nogil=True, cache=True, error_model="numpy")(function)

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        if kernel.signatures:
            return kernel(*arguments)
        notice = threading.Timer(_PATIENCE, _tell, [function.__name__])
        notice.daemon = True
        notice.start()
        try:
            return kernel(*arguments)
        finally:
            notice.cancel()

    return call  # type: ignore[return-value]


def _tell(name: str) -> None:
    sys.stderr.write(f"compiling the kernel '{name}', once on this machine ...\n")
    sys.stderr.flush()
