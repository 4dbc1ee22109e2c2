"""How a person follows a search: one live line on a terminal, a line per trial elsewhere, or nothing; a table after."""

import sys
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from mggcn.records.record import Epoch
from mggcn.train import progress
from mggcn.tune.tuning import Trial


class Silent(progress.Silent):
    """Shows nothing."""

    def watch(self, trial: Trial) -> Self:  # noqa: ARG002
        """Hear that a trial starts, and then of its epochs."""
        return self

    def show(self, trial: Trial, best: Trial | None) -> None:
        """Hear what became of a trial, and which is the best so far."""


class Lines(Silent):
    """Writes a line on standard error for every trial that ends."""

    def __init__(self, total: int, done: int) -> None:
        self._total, self._done = total, done

    def __enter__(self) -> Self:
        if self._done:
            sys.stderr.write(f"{min(self._done, self._total)} of {self._total} trials are done already\n")
        return self

    def show(self, trial: Trial, best: Trial | None) -> None:
        """Write what became of a trial."""
        reached = trial.reason if trial.value is None else f"{trial.value:.2%}"
        mark = ", the best so far" if best is not None and best.number == trial.number else ""
        sys.stderr.write(f"[{trial.number}/{self._total}] {reached}{mark}: {told(trial.settings)}\n")
        sys.stderr.flush()


class Bar(Silent):
    """One live line on standard error."""

    def __init__(self, title: str, total: int, done: int, best: Trial | None) -> None:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[best]}{task.fields[now]}", markup=False),
            TimeElapsedColumn(),
        )
        self._progress = Progress(*columns, console=Console(stderr=True))
        self._task = self._progress.add_task(title, total=total, completed=done, best=_best(best), now="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.update(self._task, now="")
        self._progress.stop()

    def watch(self, trial: Trial) -> Self:
        """Name the trial that starts."""
        self._progress.update(self._task, now=f"trial {trial.number}: preparing")
        self._number = trial.number
        return self

    def epoch(self, epoch: Epoch) -> None:
        """Say how far the trial is."""
        now = f"trial {self._number}: epoch {epoch.number}, val accuracy {epoch.val_accuracy:.2%}"
        self._progress.update(self._task, now=now)

    def show(self, trial: Trial, best: Trial | None) -> None:
        """Move the bar."""
        self._progress.update(self._task, completed=trial.number, best=_best(best), now="")


def choose(title: str, total: int, done: int, best: Trial | None, *, quiet: bool) -> Silent:
    """Pick what suits standard error.

    Args:
        title: of the line.
        total: of all trials.
        done: how many of them were there before.
        best: the best of those.
        quiet: show nothing.
    """
    if quiet:
        return Silent()
    return Bar(title, total, done, best) if sys.stderr.isatty() else Lines(total, done)


def table(trials: Sequence[Trial], target: str, most: int = 5) -> str:
    """The best trials and the first one in Markdown, the best first."""
    ranked = sorted((one for one in trials if one.value is not None), key=lambda one: -(one.value or 0.0))
    rows = [*ranked[:most], *(one for one in ranked[most:] if one.number == 1)]
    lines = [f"| trial | val {target}, % | settings |", "| ---: | ---: | --- |"]
    lines += [
        f"| {one.number}{' (as it was)' if one.number == 1 else ''} | {(one.value or 0.0) * 100:.2f} "
        f"| {told(one.settings)} |"
        for one in rows
    ]
    return "\n".join(lines) + "\n"


def told(settings: Mapping[str, object]) -> str:
    """Settings as ``--set`` takes them, numbers to four digits."""
    return " ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in settings.items()
    )


def _best(trial: Trial | None) -> str:
    return "" if trial is None or trial.value is None else f"best {trial.value:.2%} (trial {trial.number})  "
