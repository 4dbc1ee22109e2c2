"""``--log-level``: the lines of the logger ``mggcn`` on standard error."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

Level = Literal["debug", "info", "warning", "error"]


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"mggcn: {record.levelname.lower()}: {super().format(record)}"


@contextmanager
def show_logs(level: Level) -> Iterator[None]:
    """Write what is logged during the block at this level or above, one line each."""
    logger, handler = logging.getLogger("mggcn"), logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    before = logger.level
    logger.setLevel(level.upper())
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
