"""What the commands that fill a table of runs share: their options, and carrying out runs while the table grows."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mggcn.dataset import Dataset
    from mggcn.experiments.schedule import Job, Outcome
    from mggcn.records.summary import Summary
    from mggcn.train import Progress

RECORDS, TABLE = "records.jsonl", "table.md"

Switch = Annotated[bool, Parameter(negative=())]
AsJson = Annotated[bool, Parameter(name="--json", negative=())]
Device = Literal["auto", "cpu", "cuda"]


def folder_name(dataset: str) -> str:
    """How the folder of a data set's results is called, be it a known name or a path."""
    return Path(os.path.normpath(Path(dataset).absolute())).name.replace(":", "-")


def tabulate(
    data: "Dataset",
    title: str,
    total: int,
    outcomes: "list[Outcome]",
    work: "Callable[[Callable[[Job], Progress]], Iterator[Outcome]]",
    summaries: "Callable[[], Sequence[Summary]]",
    *,
    path: Path,
    about: str,
    quiet: bool,
) -> bool:
    """Carry out runs, keep the table of a data set up to date, print it at the end; True when interrupted.

    Args:
        data: what the runs are on.
        title: over the live table.
        total: of runs, those that are done included.
        outcomes: those that are done; gets the others.
        work: carries out the rest; what it is given hears that a run starts.
        summaries: gives the rows from the outcomes so far.
        path: the table's file.
        about: lines over the table, under those on the data set.
        quiet: show only the table.
    """
    from mggcn import storage
    from mggcn.cli.train import headline
    from mggcn.experiments import board
    from mggcn.records.summary import markdown, notes

    def write() -> None:
        over = headline(data) + (f"\n{about}" if about else "")
        rows = summaries()
        storage.write_atomically(path, f"{over}\n\n{markdown(rows)}\n{notes(rows)}\n".encode())

    if not quiet:
        print(headline(data), file=sys.stderr)  # noqa: T201
    interrupted = False
    try:
        with board.choose(title, total, len(outcomes), summaries, quiet=quiet) as shown:
            for outcome in work(shown.watch):
                outcomes.append(outcome)
                shown.show(outcome)
                write()
    except KeyboardInterrupt:
        interrupted = True
    write()
    print(markdown(summaries()), end="")  # noqa: T201
    return interrupted
