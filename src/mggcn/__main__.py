"""The start of ``mggcn`` and of ``python -m mggcn``: signals are handled before anything large is imported."""

import os
import signal
import sys
from types import FrameType


def main() -> int:
    """Run the command line."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    from mggcn import cli

    return cli.main()


def _end(number: int, _: FrameType | None) -> None:
    """End while libraries are imported, when there is nothing to clean up."""
    if os.environ.get("RANK", "0") == "0":
        os.write(2, b"mggcn: interrupted\n" if number == signal.SIGINT else b"mggcn: terminated\n")
    os._exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
