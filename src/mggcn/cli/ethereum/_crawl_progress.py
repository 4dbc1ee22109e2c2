"""Progress of a crawl on standard error: a bar with the remaining time on a terminal, else a line every half minute."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from mggcn.ethereum.crawl import OnProgress

_LINE_EVERY = 30.0  # seconds
_UNITS = ((3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


@contextmanager
def crawl_progress(*, quiet: bool) -> Iterator[OnProgress]:
    """Return the display that suits standard error."""
    if quiet:
        yield lambda _stage, _done, _total: None
    elif sys.stderr.isatty():
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), speed_estimate_period=600) as bars:
            tasks: dict[str, TaskID] = {}

            def update(stage: str, done: int, total: int) -> None:
                if stage not in tasks:
                    tasks[stage] = bars.add_task(stage, total=total, completed=done)
                bars.update(tasks[stage], completed=done)

            yield update
    else:
        yield ProgressLines().update


class ProgressLines:
    """Writes a line at the start and the end of a stage, and every half minute in between."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._stage, self._last_line, self._started, self._done_before = "", 0.0, 0.0, 0

    def update(self, stage: str, done: int, total: int) -> None:
        """Write a line if one is due."""
        now = self._clock()
        new_stage = stage != self._stage
        if new_stage:
            self._stage, self._started, self._done_before = stage, now, done
        if new_stage or done == total or now - self._last_line >= _LINE_EVERY:
            self._last_line = now
            left = ""
            if self._done_before < done < total:
                per_account = (now - self._started) / (done - self._done_before)
                left = f", about {_duration(per_account * (total - done))} left"
            sys.stderr.write(f"{stage}: {done:,} of {total:,}{left}\n")
            sys.stderr.flush()


def _duration(seconds: float) -> str:
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= 2 * size), _UNITS[-1])
    return f"{seconds / size:.0f} {unit}"
