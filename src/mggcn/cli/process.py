"""The process of a command: the signals that end it, and the ranks that ``torchrun`` starts.

The first Ctrl-C or SIGTERM ends a command with cleanup, and a checkpoint if it trains. A second Ctrl-C has the system's
effect and ends the process at once. The ranks join at the start, the first one prints, and errors are reported once.
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from cyclopts import CycloptsError

from mggcn.errors import InputError

_COMMANDS = ("train", "predict")
_ENDING = (signal.SIGINT, signal.SIGTERM)
_SOON = 0.01  # seconds until it is tried again to end a command
_received: list[int] = []
_printed: list[int] = []


def begin() -> None:
    """Forget the signals of an earlier command of this process."""
    _received.clear()
    _printed.clear()


def handle_signals() -> None:
    """Handle Ctrl-C and SIGTERM from now on; for the main thread of a command."""
    sys.unraisablehook = _show_unraisable
    signal.signal(signal.SIGALRM, lambda _, frame: _raise(frame))
    for number in _ENDING:
        signal.signal(number, _end)


def ignore_signals() -> None:
    """Ignore signals from now on, because the command is complete; Python's own end would take away a handler."""
    for number in (*_ENDING, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)


def received_signal() -> int | None:
    """The signal that is ending this command."""
    return _received[0] if _received else None


def exit_code(number: int) -> int:
    """Print, once, that the command is interrupted or terminated, and return its exit code."""
    if not _printed and may_print():
        _printed.append(number)
        sys.stderr.write("mggcn: interrupted\n" if number == signal.SIGINT else "mggcn: terminated\n")
        sys.stderr.flush()
    return 128 + number


def _end(number: int, frame: FrameType | None) -> None:
    """Exit with cleanup, so that temporary files and folders are removed.

    A second SIGTERM is ignored: ``torchrun`` sends one after Ctrl-C, and whoever sends it kills what does not end.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _received.append(number)
    _raise(frame)


def _raise(frame: FrameType | None) -> None:
    """Raise what ends the command, or try again soon if numba is loading a kernel.

    LLVM then calls Python, which loses what is raised there, and may crash because the kernel is not complete.
    """
    if _is_in_llvm(frame):
        signal.setitimer(signal.ITIMER_REAL, _SOON)
    elif _received[0] == signal.SIGTERM:
        sys.exit(exit_code(signal.SIGTERM))
    else:
        raise KeyboardInterrupt


def _is_in_llvm(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("llvmlite."):
            return True
        frame = frame.f_back
    return False


def _show_unraisable(unraisable: "sys.UnraisableHookArgs") -> None:
    """Print what was raised where nothing can catch it, such as in a destructor; a signal is raised again soon."""
    if _received and unraisable.exc_type in (KeyboardInterrupt, SystemExit):
        signal.setitimer(signal.ITIMER_REAL, _SOON)
    elif not _received:
        sys.__unraisablehook__(unraisable)


def may_print() -> bool:
    """Whether this process prints: the first rank, or one that is alone."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def joined(tokens: Sequence[str]) -> Iterator[None]:
    """Run a command in the process group of its ranks, if ``torchrun`` or another launcher has started several."""
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        yield
        return
    from torch import distributed as dist

    from mggcn.training import Ranks

    if not tokens or tokens[0] not in _COMMANDS:
        if not may_print():
            sys.exit(2)
        name = f"{tokens[0]}: " if tokens else ""
        raise InputError(f"{name}runs in one process; only {' and '.join(_COMMANDS)} run under torchrun")
    ranks = Ranks.join()
    if not ranks.is_first:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
    try:
        yield
    except (InputError, CycloptsError, OSError) as error:
        if ranks.is_reported(str(error)):
            sys.exit(2)
        if ranks.is_first:
            raise
        raise InputError(f"rank {ranks.rank}: {error}") from None
    finally:
        dist.destroy_process_group()
