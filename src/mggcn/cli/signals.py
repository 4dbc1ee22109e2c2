"""Ctrl-C and SIGTERM: the first ends a command with cleanup, the second at once.

Python handles a signal only between two of its own instructions, which a long kernel can delay. A thread therefore
watches the signals, too: it ends the process if the second signal comes, or if a command that said what to do last is
still running a short time after the first.
"""

import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from mggcn.cli import ranks

_PATIENCE = 1.0  # seconds until a command is ended that has not ended itself
_ENDING = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = "\x1b[?25h"

_last: list[Callable[[], None]] = []


def install() -> None:
    """Handle Ctrl-C and SIGTERM from now on; for the main thread of a command."""
    for number in _ENDING:
        signal.signal(number, _end)
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(read,), daemon=True).start()


def leave_to_server() -> None:
    """Stop watching: a server ends by itself and then raises the signal again, which must not count as the second."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.set_wakeup_fd(-1)


@contextmanager
def ending_with(action: Callable[[], None]) -> Iterator[None]:
    """Say what to do last if a command inside the ``with`` block cannot end in time; runs in another thread."""
    _last.append(action)
    try:
        yield
    finally:
        _last.remove(action)


def _end(number: int, _: FrameType | None) -> None:
    """Exit with cleanup, so that temporary files and folders are removed; further signals are for the thread."""
    for each in _ENDING:
        signal.signal(each, lambda *_: None)
    if number == signal.SIGTERM:
        if ranks.may_print():
            sys.stderr.write("mggcn: terminated\n")
        sys.exit(128 + number)
    raise KeyboardInterrupt


def _watch(pipe: int) -> None:
    number = _next(pipe, None)
    while (again := _next(pipe, _PATIENCE)) is None:
        if _last:
            _last[-1]()
            _exit(number or signal.SIGTERM)
    _exit(again)


def _next(pipe: int, seconds: float | None) -> int | None:
    """Wait for a signal that ends the process; None if none comes in time."""
    while select.select([pipe], [], [], seconds)[0]:
        for number in os.read(pipe, 1):
            if number in _ENDING:
                return number
    return None


def _exit(number: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(_SHOW_CURSOR)
        sys.stderr.flush()
    os._exit(128 + number)
