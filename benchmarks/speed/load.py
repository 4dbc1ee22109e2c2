"""How busy other processes keep the machine while something is measured."""

import os
import time
from pathlib import Path
from typing import Any

_STAT = Path("/proc/stat")
_IDLE = (3, 4)  # the columns of idle and of waiting for a disk


class Load:
    """Counts from its creation on."""

    def __init__(self) -> None:
        self._before, self._started = os.getloadavg()[0], time.perf_counter()
        self._busy, self._own = busy_seconds(), _own_seconds()

    def facts(self) -> dict[str, Any]:
        """The load average before and now, and the cores that other processes have used on average.

        The last is left out where the system does not count it. Processes that this one has started are its own once
        they have ended.
        """
        facts = {"load_before": self._before, "load_after": os.getloadavg()[0]}
        now = busy_seconds()
        if self._busy is None or now is None:
            return facts
        others = now - self._busy - (_own_seconds() - self._own)
        return facts | {"others": max(0.0, others / (time.perf_counter() - self._started))}


def busy_seconds() -> float | None:
    """The seconds that all cores together have computed since the system started; None where it does not say."""
    try:
        first, *columns = _STAT.read_text().partition("\n")[0].split()
    except OSError:
        return None
    ticks = [int(column) for column in columns[:8]]  # further columns are parts of these
    if first != "cpu":
        return None
    return sum(count for index, count in enumerate(ticks) if index not in _IDLE) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
