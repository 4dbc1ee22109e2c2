"""The start and the end of ``mggcn`` and ``python -m mggcn``: signals are handled before large imports."""

import atexit
import gc
import os
import signal
import sys
from types import FrameType

_OBJECTS = 100_000  # between searches for garbage; with Python's 700, imports take much longer
_WAITING = {"GOMP_SPINCOUNT": "10000", "KMP_BLOCKTIME": "1"}  # of libgomp, less than a millisecond, and of libomp


def main() -> int:
    """Run the command line."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    codes: list[int] = []
    atexit.register(_leave, codes)
    gc.set_threshold(_OBJECTS)
    let_threads_sleep()
    from mggcn import cli

    codes.append(cli.main())
    return codes[0]


def let_threads_sleep() -> None:
    """Let threads of torch that wait for others sleep soon; call it before torch is imported.

    By default they keep their core for some milliseconds, which other threads may need to let them go on. What the user
    has set stays.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        for name, value in _WAITING.items():
            os.environ.setdefault(name, value)


def _leave(codes: list[int]) -> None:
    """End the process without freeing its objects one by one, which takes most of a second with torch.

    What is registered first runs last, so everything else that libraries do at the end is done.
    """
    if not codes:
        return  # an error that Python shows
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return  # Python has an exit code for it
    os._exit(codes[0])


def _end(number: int, _: FrameType | None) -> None:
    """End while libraries are imported, when there is nothing to clean up."""
    if os.environ.get("RANK", "0") == "0":
        os.write(2, b"mggcn: interrupted\n" if number == signal.SIGINT else b"mggcn: terminated\n")
    os._exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
