"""How a person follows a crawl: a bar with the time left on a terminal, a line now and then elsewhere, or nothing."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from mggcn.ethereum.crawl import Follow

_LINE_EVERY = 30.0  # seconds
_UNITS = ((3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


@contextmanager
def following(*, quiet: bool) -> Iterator[Follow]:
    """Give what suits standard error."""
    if quiet:
        yield lambda _stage, _done, _total: None
    elif sys.stderr.isatty():
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), speed_estimate_period=600) as progress:
            yield Bar(progress).follow
    else:
        yield Lines().follow


class Bar:
    """A bar for each stage, with the time left."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def follow(self, stage: str, done: int, total: int) -> None:
        """Move the stage's bar."""
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(stage, total=total, completed=done)
        self._progress.update(self._tasks[stage], completed=done)


class Lines:
    """A line on standard error at the start and the end of a stage, and every half minute between."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._stage, self._told, self._begun, self._from = "", 0.0, 0.0, 0

    def follow(self, stage: str, done: int, total: int) -> None:
        """Write a line when it is due."""
        now = self._clock()
        fresh = stage != self._stage
        if fresh:
            self._stage, self._begun, self._from = stage, now, done
        if fresh or done == total or now - self._told >= _LINE_EVERY:
            self._told = now
            left = ""
            if self._from < done < total:
                left = f", about {_span((now - self._begun) / (done - self._from) * (total - done))} left"
            sys.stderr.write(f"{stage}: {done:,} of {total:,}{left}\n")
            sys.stderr.flush()


def _span(seconds: float) -> str:
    """A time in words."""
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= 2 * size), _UNITS[-1])
    return f"{seconds / size:.0f} {unit}"
