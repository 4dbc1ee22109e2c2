"""How a person follows training: a live bar on a terminal, plain lines elsewhere, or nothing."""

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from mggcn.records.record import Epoch

_LINE_EVERY = 10


class Silent:
    """Shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def epoch(self, epoch: Epoch) -> None:
        """Ignore an epoch."""


class Lines(Silent):
    """Writes the first epoch and every tenth as a line on standard error."""

    def __init__(self, title: str) -> None:
        self._title = title

    def epoch(self, epoch: Epoch) -> None:
        """Write an epoch's line when it is due."""
        if epoch.number == 1 or epoch.number % _LINE_EVERY == 0:
            sys.stderr.write(f"{self._title}  epoch {epoch.number:4d}  {_figures(epoch)}\n")
            sys.stderr.flush()


class Bar(Silent):
    """A live bar on standard error. Its end is the epoch limit; early stopping usually comes first."""

    def __init__(self, title: str, epochs: int) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeElapsedColumn(),
        )
        self._progress = Progress(*columns, console=Console(stderr=True))
        self._task = self._progress.add_task(title, total=epochs, figures="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def epoch(self, epoch: Epoch) -> None:
        """Move the bar."""
        self._progress.update(self._task, completed=epoch.number, figures=_figures(epoch))


def choose(title: str, epochs: int, *, quiet: bool) -> Silent:
    """Pick what suits standard error."""
    if quiet:
        return Silent()
    return Bar(title, epochs) if sys.stderr.isatty() else Lines(title)


def _figures(epoch: Epoch) -> str:
    return f"loss {epoch.train_loss:.4f}  val loss {epoch.val_loss:.4f}  val accuracy {epoch.val_accuracy:.2%}"
