"""Training a run in its folder so that it can be resumed, and resuming it: parts of ``mggcn train``."""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mggcn.cli import signals
from mggcn.cli.options import RunOptions
from mggcn.errors import RankError

if TYPE_CHECKING:
    from mggcn.runs import Run, RunFolder
    from mggcn.training import Checkpoints, Progress, Ranks


def train_in(folder: "RunFolder", progress: "Progress", every: float, command: str, *, quiet: bool) -> "Run":
    """Train a run; Ctrl-C and SIGTERM write a checkpoint and print the command that continues.

    Args:
        folder: of the run.
        progress: is called with every epoch.
        every: seconds between two checkpoints, at least.
        command: that continues the run.
        quiet: print nothing about an earlier checkpoint.
    """

    def opened(checkpoints: "Checkpoints") -> None:
        ending.append(checkpoints)
        if checkpoints.state is not None and not quiet:
            _say(f"continues after epoch {checkpoints.state.epoch}, from {checkpoints.folder}")

    def end() -> None:
        for checkpoints in ending:
            checkpoints.flush()
        say_command()

    def say_command() -> None:
        if folder.ranks.is_first:
            _say(f"continue with: {command}")

    ending: list[Checkpoints] = []
    with signals.ending_with(end):
        try:
            return folder.train(progress, every, opened)
        except (KeyboardInterrupt, SystemExit, RankError):
            say_command()
            raise


def command(folder: Path, options: RunOptions, *, allow_import: bool, ranks: "Ranks") -> str:
    """The command that continues a run, by as many ranks."""
    machines = ["--nnodes", str(ranks.size // ranks.local_size)] if ranks.size > ranks.local_size else []
    torchrun = ["torchrun", *machines, "--nproc-per-node", str(ranks.local_size), "-m"] if ranks.size > 1 else []
    values = {"--root": options.root, "--cache": options.cache, "--memory": options.memory}
    rest = [word for option, value in values.items() if value is not None for word in (option, str(value))]
    rest += [option for option, is_set in (("--mmap", options.mmap), ("--allow-import", allow_import)) if is_set]
    return shlex.join([*torchrun, "mggcn", "train", "--resume", str(folder), *rest])


def open_run(
    folder: Path,
    dataset: str | None,
    changes: Mapping[str, object],
    options: RunOptions,
    others: Mapping[str, object],
    *,
    allow_import: bool,
    ranks: "Ranks",
) -> "RunFolder | None":
    """The folder of a run to resume; None, and a line that says so, if the run is finished.

    Args:
        folder: of the run.
        dataset: the name or folder of the same data, if it is elsewhere now.
        changes: of settings.
        options: of the command, for the data.
        others: options that a resumed run does not take, by name; all must be None.
        allow_import: whether the run may import code.
        ranks: that train the run.
    """
    from mggcn.errors import InputError
    from mggcn.runs import RunFolder, is_finished, load_data, load_run

    for option, value in others.items():
        if value is not None:
            raise InputError(f"--{option}: a run is resumed as it was started; leave it out beside --resume")
    if ranks.first(lambda: is_finished(folder)):
        if ranks.is_first:
            record = load_run(folder, allow_import=allow_import).record
            print(f"{folder} is finished after {record.epochs} epochs: test accuracy {record.test_accuracy:.2%}")  # noqa: T201
        return None
    root, access = options.root, options.access
    data = None if dataset is None else load_data(dataset, root, ranks, access)
    return RunFolder.open(folder, data, changes, root=root, access=access, allow_import=allow_import, ranks=ranks)


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
