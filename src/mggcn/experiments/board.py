"""How a person follows a comparison: a live table on a terminal, a line per run elsewhere, or nothing."""

import sys
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from mggcn.experiments.schedule import Job, Outcome
from mggcn.records import summary
from mggcn.records.record import Epoch
from mggcn.records.summary import Summary
from mggcn.train import progress

Summarise = Callable[[], Sequence[Summary]]


class Silent(progress.Silent):
    """Shows nothing."""

    def watch(self, job: Job) -> Self:  # noqa: ARG002
        """Hear that a run starts, and then of its epochs."""
        return self

    def show(self, outcome: Outcome) -> None:
        """Hear what became of a job."""


class Lines(Silent):
    """Writes a line on standard error for every run that ends."""

    def __init__(self, total: int, done: int) -> None:
        self._total, self._ended = total, done

    def __enter__(self) -> Self:
        if self._ended:
            self._write(f"{self._ended} of {self._total} runs are done already")
        return self

    def show(self, outcome: Outcome) -> None:
        """Write what became of a job."""
        self._ended += 1
        self._write(f"[{self._ended}/{self._total}] {outcome.job.title}: {_told(outcome)}")

    def _write(self, line: str) -> None:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()


class Board(Silent):
    """A live table on standard error, gone when the work ends."""

    def __init__(self, title: str, total: int, done: int, summarise: Summarise) -> None:
        self._title, self._total, self._ended, self._summarise = title, total, done, summarise
        self._running: Job | None = None
        self._epoch: Epoch | None = None
        self._summaries = summarise()
        self._live = Live(get_renderable=self.table, console=Console(stderr=True), transient=True, refresh_per_second=4)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def watch(self, job: Job) -> Self:
        """Mark the row of the run that starts."""
        self._running, self._epoch = job, None
        return self

    def epoch(self, epoch: Epoch) -> None:
        """Take an epoch into the line under the table."""
        self._epoch = epoch

    def show(self, outcome: Outcome) -> None:  # noqa: ARG002
        """Take an outcome into the table."""
        self._ended += 1
        self._running = None
        self._summaries = self._summarise()

    def table(self) -> Table:
        """The table as it stands."""
        running, epoch = self._running, self._epoch
        table = Table(title=Text(self._title), caption=Text(self._caption(running, epoch)), caption_justify="left")
        for number, heading in enumerate(summary.headings(self._summaries)):
            table.add_column(heading, justify="right" if number else "left", no_wrap=number == 0)
        for one, row in zip(self._summaries, summary.rows(self._summaries), strict=True):
            is_running = running is not None and running.variant.label == one.label
            style = "bold cyan" if is_running else "" if one.done == one.seeds else "dim"
            table.add_row(*(Text(cell) for cell in row), style=style)
        return table

    def _caption(self, running: Job | None, epoch: Epoch | None) -> str:
        done = f"{self._ended} of {self._total} runs"
        if running is None:
            return done
        if epoch is None:
            return f"{done}; {running.title}: preparing"
        reached = f"epoch {epoch.number} of at most {running.most_epochs}, val accuracy {epoch.val_accuracy:.2%}"
        return f"{done}; {running.title}: {reached}"


def choose(title: str, total: int, done: int, summarise: Summarise, *, quiet: bool) -> Silent:
    """Pick what suits standard error.

    Args:
        title: over the table.
        total: of all runs.
        done: how many of them were there before.
        summarise: gives the rows as they stand.
        quiet: show nothing.
    """
    if quiet:
        return Silent()
    return Board(title, total, done, summarise) if sys.stderr.isatty() else Lines(total, done)


def _told(outcome: Outcome) -> str:
    record = outcome.record
    if record is None:
        return f"not run: {outcome.reason}"
    return (
        f"test accuracy {record.test_accuracy:.2%}, macro-F1 {record.test_macro_f1:.2%}, "
        f"{summary.duration(record.epoch_seconds)} an epoch, best epoch {record.best_epoch} of {record.epochs}, "
        f"{summary.duration(record.total_seconds)}"
    )
