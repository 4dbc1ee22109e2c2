"""Ctrl-C and SIGTERM: the first ends a command with cleanup, the second at once.

Python handles a signal only between two of its own instructions, which a long kernel can delay, and libraries such as
DuckDB turn what a handler raises into errors of their own. A thread therefore watches the signals, too: it ends the
process if the second signal comes, or if the command is still running a short time after the first. The drafts of the
process are then removed.

SIGBUS: reading a mapped file that another process has shortened, or whose disk fails, ends in this signal. Python's own
handlers run after the instruction, which is repeated without end, so a C function is registered instead.
"""

import ctypes
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from mggcn.cli import printing, ranks
from mggcn.errors import InputError

_PATIENCE = 1.0  # seconds until a command is ended that said what to do last and has not ended itself
_MOST_PATIENCE = 2.0  # seconds until any command is ended
_SOON = 0.01  # seconds until it is tried again to end a command
_ENDING = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = "\x1b[?25h"

_last: list[Callable[[], None]] = []
_received: list[int] = []
_said: list[int] = []
_serving: list[bool] = []


def begin() -> None:
    """Forget the signals of an earlier command of this process."""
    _received.clear()
    _said.clear()
    _serving.clear()


def install() -> None:
    """Handle Ctrl-C and SIGTERM from now on; for the main thread of a command."""
    sys.unraisablehook = _show_unraisable
    ctypes.CDLL(None).signal(signal.SIGBUS, _bus_handler)
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(read,), daemon=True).start()
    for number in _ENDING:
        signal.signal(number, _end)


def end() -> None:
    """Ignore signals from now on, because the command is complete; Python's own end would take away a handler."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)


def received() -> int | None:
    """The signal that is ending this command."""
    return _received[0] if _received else None


def exit_code(number: int) -> int:
    """Print, once, that the command is interrupted or terminated, and return its exit code."""
    if not _said and ranks.may_print():
        _said.append(number)
        sys.stderr.write("mggcn: interrupted\n" if number == signal.SIGINT else "mggcn: terminated\n")
        sys.stderr.flush()
    return 128 + number


def leave_to_server() -> None:
    """A server ends by itself and then raises the signal again, which must not count as the second."""
    _serving.append(True)


@contextmanager
def ending_with(action: Callable[[], None]) -> Iterator[None]:
    """Say what to do last if a command inside the ``with`` block cannot end in time; runs in another thread."""
    _last.append(action)
    try:
        yield
    finally:
        _last.remove(action)


def _end(number: int, frame: FrameType | None) -> None:
    """Exit with cleanup, so that temporary files and folders are removed; further signals are for the thread."""
    for each in _ENDING:
        signal.signal(each, lambda *_: None)
    _received.append(number)
    _raise(number, frame)


def _raise(number: int, frame: FrameType | None) -> None:
    """Raise what ends the command, or try again soon if numba is loading a kernel.

    LLVM then calls Python, which loses what is raised there, and may crash because the kernel is not complete.
    """
    if _is_in_llvm(frame):
        signal.signal(signal.SIGALRM, lambda _, frame: _raise(number, frame))
        signal.setitimer(signal.ITIMER_REAL, _SOON)
        return
    if number == signal.SIGTERM:
        sys.exit(exit_code(number))
    raise KeyboardInterrupt


def _is_in_llvm(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("llvmlite."):
            return True
        frame = frame.f_back
    return False


def _show_unraisable(unraisable: "sys.UnraisableHookArgs") -> None:
    """Print what was raised where nothing can catch it, unless it is the signal, after which the thread ends all."""
    if not _received:
        sys.__unraisablehook__(unraisable)


def _watch(pipe: int) -> None:
    number = _next(pipe, None) or signal.SIGTERM
    started = time.monotonic()
    while (again := _next(pipe, _PATIENCE)) is None or _serving:
        if _last:
            _last[-1]()
            _exit(number)
        if time.monotonic() - started >= _MOST_PATIENCE:
            _exit(number)
    _exit(again)


def _next(pipe: int, seconds: float | None) -> int | None:
    """Wait for a signal that ends the process; None if none comes in time."""
    while select.select([pipe], [], [], seconds)[0]:
        for number in os.read(pipe, 1):
            if number in _ENDING:
                return number
    return None


def _exit(number: int) -> None:
    _clean_up()
    os._exit(exit_code(number))


def _end_on_bus_error(_: int) -> None:
    """Name the mapped file that cannot be read, and end: the instruction that read it cannot be completed."""
    _said.append(signal.SIGBUS)
    if len(_said) > 1:
        time.sleep(_MOST_PATIENCE)  # another thread ends the process
    message = "a mapped file cannot be read"
    if mapping := sys.modules.get("mggcn._io.mapping"):
        try:
            mapping.check_all()
        except InputError as error:
            message = str(error)
    os.write(2, f"mggcn: error: {printing.visible(message)}\n".encode())
    _clean_up()
    os._exit(2)


_bus_handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(_end_on_bus_error)


def _clean_up() -> None:
    if sys.stderr.isatty():
        sys.stderr.write(_SHOW_CURSOR)
        sys.stderr.flush()
    if drafts := sys.modules.get("mggcn._io.temporary"):
        drafts.remove_own()
