"""Progress on standard error for all commands: a live display on a terminal, plain lines elsewhere, or nothing."""

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from mggcn.cli.printing import visible

if TYPE_CHECKING:
    from mggcn.training import Epoch

_EPOCHS_PER_LINE = 10
_SECONDS_PER_LINE = 30.0
_UNITS = ((3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


class Display:
    """Shows bars and a table on a terminal and writes lines elsewhere. Used in a ``with`` block.

    Args:
        quiet: show nothing.
        transient: whether what is shown on a terminal disappears at the end.
        remaining: whether bars show the time left instead of the time spent.
    """

    def __init__(self, *, quiet: bool = False, transient: bool = False, remaining: bool = False) -> None:
        self._is_live = sys.stderr.isatty() and not quiet
        self._has_lines = not self._is_live and not quiet
        clock = TimeRemainingColumn() if remaining else TimeElapsedColumn()
        text = TextColumn("{task.fields[text]}", markup=False)
        columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=24), MofNCompleteColumn(), text)
        self._bars = Progress(*columns, clock, speed_estimate_period=600)
        self._tasks: dict[str, TaskID] = {}
        self._render: Callable[[], RenderableType] | None = None
        console = Console(stderr=True)
        self._live = Live(get_renderable=self._renderable, console=console, transient=transient, refresh_per_second=4)

    def __enter__(self) -> Self:
        if self._is_live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def line(self, text: str) -> None:
        """Write a line, unless this is a terminal."""
        if self._has_lines:
            sys.stderr.write(visible(text) + "\n")
            sys.stderr.flush()

    def bar(self, name: str, done: int, total: int | None, text: str = "") -> None:
        """Show or move the bar of a task, on a terminal."""
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(visible(name), total=total, completed=done, text="")
        self._bars.update(self._tasks[name], completed=done, total=total, text=visible(text))

    def show(self, render: Callable[[], RenderableType]) -> None:
        """Show what a function returns above the bars, on a terminal; it is called for every refresh."""
        self._render = render

    def _renderable(self) -> RenderableType:
        return Group(*([self._render()] if self._render else []), *([self._bars] if self._tasks else []))


class EpochDisplay(Display):
    """Shows the epochs of a run, ``total`` at most: a bar, or a line for the first epoch and every tenth."""

    def __init__(self, title: str, total: int, *, quiet: bool = False) -> None:
        super().__init__(quiet=quiet)
        self._title, self._total = title, total
        self.bar(title, 0, total)

    def note(self, text: str) -> None:
        """Show a sentence before the first epoch."""
        self.bar(self._title, 0, self._total, text)
        self.line(f"{self._title}: {text}")

    def epoch(self, epoch: "Epoch") -> None:
        """Show an epoch."""
        figures = f"loss {epoch.train_loss:.4f}  val loss {epoch.val_loss:.4f}  val accuracy {epoch.val_accuracy:.2%}"
        self.bar(self._title, epoch.number, self._total, figures)
        if epoch.number == 1 or epoch.number % _EPOCHS_PER_LINE == 0:
            self.line(f"{self._title}  epoch {epoch.number:4d}  {figures}")


class StageDisplay(Display):
    """Shows long stages of a job: a bar with the time left for each, or lines at their start, end and between."""

    def __init__(self, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(quiet=quiet, remaining=True)
        self._clock = clock
        self._stage, self._written, self._started, self._first = "", 0.0, 0.0, 0

    def update(self, stage: str, done: int, total: int | None) -> None:
        """Show how much of a stage is done; ``total`` is None if it is not known."""
        self.bar(stage, done, total)
        now, is_new = self._clock(), stage != self._stage
        if is_new:
            self._stage, self._started, self._first = stage, now, done
        if is_new or done == total or now - self._written >= _SECONDS_PER_LINE:
            self._written = now
            left = ""
            if total is not None and self._first < done < total:
                left = f", about {_span((now - self._started) / (done - self._first) * (total - done))} left"
            of_total = "" if total is None else f" of {total:,}"
            self.line(f"{stage}: {done:,}{of_total}{left}")

    def note(self, text: str) -> None:
        """Show why the current stage does not move, until it does."""
        if self._stage:
            task = self._bars.tasks[self._tasks[self._stage]]
            self.bar(self._stage, int(task.completed), None if task.total is None else int(task.total), text)
        self.line(f"{self._stage}: {text}" if self._stage else text)


def _span(seconds: float) -> str:
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= 2 * size), _UNITS[-1])
    return f"{seconds / size:.0f} {unit}"
