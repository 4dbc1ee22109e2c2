"""What all commands show: progress on standard error, the lines of the log, aligned columns, and visible characters.

Progress is a live display on a terminal, plain lines elsewhere, or nothing.
"""

import logging
import re
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, Self, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from mggcn.experiments import Table
    from mggcn.training import Epoch

Level = Literal["debug", "info", "warning", "error"]
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028-\u202e\u2066-\u2069]")
_EPOCHS_PER_LINE = 10
_SECONDS_PER_LINE = 30.0


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
        self._tasks: dict[str, Any] = {}  # the numbers of the bars
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
                seconds = (now - self._started) / (done - self._first) * (total - done)
                left = f", about {timedelta(seconds=round(seconds))} left"
            of_total = "" if total is None else f" of {total:,}"
            self.line(f"{stage}: {done:,}{of_total}{left}")

    def note(self, text: str) -> None:
        """Show why the current stage does not move, until it does."""
        if self._stage:
            self._bars.update(self._tasks[self._stage], text=visible(text))
        self.line(f"{self._stage}: {text}" if self._stage else text)


def aligned(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> str:
    """Rows of text as columns, two spaces apart; the columns in ``right`` are aligned to the right.

    >>> print(aligned([["class", "F1"], ["phish", "9"]], right=[1]))
    class  F1
    phish   9
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def aligned_table(table: "Table[Any]") -> str:
    """A table of results as columns; all but the first are aligned to the right."""
    return aligned([table.headings, *table.texts], right=range(1, len(table.columns)))


def visible(text: str) -> str:
    """Text in which control characters, except for tabs and ends of lines, are written out as in Python's strings."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def show_control_characters() -> None:
    """Make control characters visible that are printed to a terminal; files and pipes receive text as it is."""
    if sys.stdout.isatty():
        sys.stdout = Visible(sys.stdout)
    if sys.stderr.isatty():
        sys.stderr = Visible(sys.stderr)


class Visible:
    """A text stream that writes control characters out.

    Attributes:
        rich_proxied_file: the stream itself, which Rich writes its colours and bars to.
    """

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        """Write text; returns its length."""
        self.rich_proxied_file.write(visible(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write several texts."""
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


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
