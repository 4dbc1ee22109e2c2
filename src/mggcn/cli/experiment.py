"""``mggcn experiment``: run the experiments of TOML files, list them, and tell how far they are."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import App

from mggcn.cli.tabulate import RECORDS, TABLE, AsJson, Device, Switch, folder_name, tabulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mggcn.dataset import Dataset
    from mggcn.experiments import Experiment
    from mggcn.experiments.schedule import Job, Outcome
    from mggcn.records.ledger import Ledger
    from mggcn.records.summary import Summary
    from mggcn.train import Progress

RUNS, PAPER, IDENTITY = Path("experiments-runs"), Path("experiments/paper"), "dataset.json"

app = App(name="experiment", help="Run experiments that are described in TOML files, such as the paper's.")


@app.command
def run(
    file: Path,
    /,
    *,
    seeds: int | None = None,
    jobs: int = 1,
    only: str | None = None,
    device: Device = "auto",
    root: Path | None = None,
    out: Path | None = None,
    quiet: Switch = False,
    as_json: AsJson = False,
) -> None:
    """Run an experiment and leave a table for each of its data sets; started again, it goes on where it was.

    A data set that cannot be had does not stop the others: its table says why, and the command ends with an error.

    Args:
        file: The experiment, such as experiments/paper/accuracy.toml.
        seeds: Train each variant so many times, with seeds 0, 1, 2 ...; as the file says unless given.
        jobs: So many runs side by side, which share the cores; times are then of a busy machine.
        only: Run only where this is part of the name of the data set or of the label.
        device: auto takes the GPU where there is one.
        root: Where data sets are looked for; else $MGGCN_DATA, else a per-user cache.
        out: The folder of records.jsonl and DATASET/table.md; experiments-runs/NAME unless given.
        quiet: Show only the tables.
        as_json: End standard output with one line of JSON.
    """
    from dataclasses import asdict

    from mggcn.cli.train import check_writable
    from mggcn.errors import InputError
    from mggcn.records.ledger import Ledger
    from mggcn.train import choose_device

    chosen = _read(file, seeds)
    if jobs < 1:
        raise InputError(f"--jobs: {jobs} is less than 1")
    if jobs > 1 and chosen.alone:
        raise InputError(f"--jobs: the runs of {file} are timed (alone = true), so they go one by one")
    selected = chosen.selected(only)
    place = choose_device(device).type
    target = out or RUNS / chosen.name
    check_writable(target)
    work = _Work(chosen, Ledger(target / RECORDS), place, root, target, jobs, quiet)
    tables: dict[str, list[Summary]] = {}
    interrupted = False
    for name, labels in selected.items():
        tables[name], interrupted = work.fill(name, labels)
        if interrupted:
            break
    if as_json:
        result = {"experiment": chosen.name, "device": place, "seeds": chosen.seeds, "out": str(target)}
        filled = [{"dataset": name, "summaries": [asdict(row) for row in rows]} for name, rows in tables.items()]
        print(json.dumps(result | {"interrupted": interrupted, "tables": filled}))  # noqa: T201
    if interrupted:
        raise KeyboardInterrupt
    problems = [f"{file}: data set {name}: {reason}" for name, reason in work.lacking.items()]
    for name, rows in tables.items():
        tried = [row for row in rows if row.label in selected[name]]
        if name not in work.lacking and not any(row.done for row in tried):
            problems.append(f"{name}: none of the variants could be run; {tried[0].label}, {tried[0].reasons[0]}")
    if problems:
        raise InputError("; ".join(problems))


@app.command(name="list")
def list_files(folder: Path = PAPER, /, *, root: Path | None = None) -> None:
    """List the experiments of a folder: file, number of runs, title.

    Args:
        folder: Of TOML files.
        root: Where data sets are looked for; else $MGGCN_DATA, else a per-user cache.
    """
    from mggcn.errors import InputError
    from mggcn.experiments import read_folder

    found = read_folder(folder)
    if not found:
        raise InputError(f"{folder}: holds no .toml file")
    rows = []
    for one in found:
        missing = one.missing(root)
        needs = f" (data yet to be made here: {', '.join(missing)})" if missing else ""
        rows.append([str(one.path), f"{one.num_runs} runs", one.title + needs])
    print(_aligned(rows))  # noqa: T201


@app.command
def status(file: Path, /, *, seeds: int | None = None, device: Device = "auto", out: Path | None = None) -> None:
    """Tell how many runs of an experiment are done and to do, by data set and variant.

    Args:
        file: The experiment.
        seeds: As for run.
        device: As for run; runs on a CPU and on a GPU are counted apart.
        out: As for run.
    """
    from mggcn.experiments import noted_identity
    from mggcn.records.ledger import Ledger
    from mggcn.train import choose_device

    chosen = _read(file, seeds)
    place = choose_device(device).type
    target = out or RUNS / chosen.name
    ledger = Ledger(target / RECORDS)
    rows, total = [["data set", "variant", "done", "to do"]], 0
    for name in chosen.datasets:
        identity = noted_identity(target / folder_name(name) / IDENTITY)
        planned = chosen.plan(name, identity, place) if identity else []
        ended = [job.variant.label for job in planned if job.spec.digest in ledger.records]
        total += len(ended)
        for line in chosen.lines:
            done = ended.count(line.variant.label)
            rows.append([name, line.variant.label, str(done), str(chosen.seeds - done)])
    print(_aligned(rows))  # noqa: T201
    print(f"{total} of {chosen.num_runs} runs on {place} are done")  # noqa: T201


@dataclass
class _Work:
    """What the runs of an experiment share.

    Attributes:
        chosen: the experiment.
        ledger: of its runs.
        place: the device.
        root: where data sets are looked for.
        target: the folder of results.
        processes: so many runs side by side.
        quiet: show only the tables.
        lacking: the data sets that could not be had, and why.
    """

    chosen: "Experiment"
    ledger: "Ledger"
    place: str
    root: Path | None
    target: Path
    processes: int
    quiet: bool
    lacking: dict[str, str] = field(default_factory=dict)

    def fill(self, name: str, labels: set[str]) -> "tuple[list[Summary], bool]":
        """Carry out what is to do on one data set; its rows, and whether a person interrupted.

        A data set that cannot be had has a table all the same, with the paper's numbers and the reason.
        """
        from mggcn.errors import InputError
        from mggcn.experiments import note_identity
        from mggcn.experiments.schedule import recall

        try:
            data = self.chosen.load(name, self.root)
            if data.split is None:
                raise InputError("no training labels (the data set has no split)")
        except (InputError, OSError) as error:
            self.lacking[name] = " ".join(str(error).split())
            return self._without(name), False
        identity = note_identity(self._folder(name) / IDENTITY, data)
        planned = self.chosen.plan(name, identity, self.place)
        outcomes = recall(planned, self.ledger)
        waiting = [job for job in planned if job.variant.label in labels and job.spec.digest not in self.ledger.records]
        self._note(name, [])
        interrupted = self._carry_out(name, data, outcomes, waiting)
        rows = self.chosen.summarise(name, outcomes, self.place)
        self._note(name, rows)
        return rows, interrupted

    def _carry_out(self, name: str, data: "Dataset", outcomes: "list[Outcome]", waiting: "list[Job]") -> bool:
        from functools import partial

        from mggcn.experiments import parallel
        from mggcn.experiments.schedule import execute

        def work(watch: "Callable[[Job], Progress]") -> "Iterator[Outcome]":
            if self.processes == 1:
                return execute(data, waiting, self.ledger, watch)
            return parallel.execute(partial(self.chosen.load, name, self.root), waiting, self.ledger, self.processes)

        return tabulate(
            data,
            f"{self.chosen.name}: {name} on {self.place}",
            len(outcomes) + len(waiting),
            outcomes,
            work,
            lambda: self.chosen.summarise(name, outcomes, self.place),
            path=self._folder(name) / TABLE,
            about=self.chosen.about(),
            quiet=self.quiet,
        )

    def _without(self, name: str) -> "list[Summary]":
        """The table of a data set that cannot be had; runs that were done earlier are in it."""
        from mggcn import storage
        from mggcn.experiments import noted_identity
        from mggcn.experiments.schedule import recall
        from mggcn.records.summary import markdown, notes

        identity = noted_identity(self._folder(name) / IDENTITY)
        outcomes = recall(self.chosen.plan(name, identity, self.place), self.ledger) if identity else []
        rows = self.chosen.summarise(name, outcomes, self.place, self.lacking[name])
        over = f"{name}: not run: {self.lacking[name]}"
        content = f"{over}\n{self.chosen.about()}\n\n{markdown(rows)}\n{notes(rows)}\n"
        storage.write_atomically(self._folder(name) / TABLE, content.encode())
        self._note(name, rows)
        if not self.quiet:
            print(over, file=sys.stderr)  # noqa: T201
        print(markdown(rows), end="")  # noqa: T201
        return rows

    def _note(self, name: str, rows: "list[Summary]") -> None:
        """Write beside the ledger what a report is to know."""
        from mggcn import storage
        from mggcn.experiments import noted_identity, sheet
        from mggcn.records.read import EXPERIMENT, read_sheet

        path = self.target / EXPERIMENT
        identities = {each: noted_identity(self._folder(each) / IDENTITY) for each in self.chosen.datasets}
        reasons = {name: {row.label: row.reasons for row in rows}}
        told = sheet(self.chosen, identities, reasons, self.ledger, self.place, read_sheet(path))
        storage.write_atomically(path, told.to_json().encode())

    def _folder(self, name: str) -> Path:
        return self.target / folder_name(name)


def _read(file: Path, seeds: int | None) -> "Experiment":
    from dataclasses import replace

    from mggcn.errors import InputError
    from mggcn.experiments import read

    if seeds is not None and seeds < 1:
        raise InputError(f"--seeds: {seeds} is less than 1")
    chosen = read(file)
    owners: dict[str, str] = {}
    for name in chosen.datasets:
        owner = owners.setdefault(folder_name(name), name)
        if owner != name:
            raise InputError(f"{file}: datasets: {owner!r} and {name!r} would leave their results in the same folder")
    return chosen if seeds is None else replace(chosen, seeds=seeds)


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
