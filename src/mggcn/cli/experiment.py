"""``mggcn experiment``: run the experiments of TOML files, list them, and tell how far they are."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import App

from mggcn.cli.tabulate import RECORDS, TABLE, AsJson, Device, Switch, folder_name, tabulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mggcn.compare import Job, Outcome
    from mggcn.experiment import Experiment
    from mggcn.ledger import Ledger
    from mggcn.summary import Summary
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
    from mggcn.ledger import Ledger
    from mggcn.run import choose_device

    chosen = _read(file, seeds)
    if jobs < 1:
        raise InputError(f"--jobs: {jobs} is less than 1")
    if jobs > 1 and chosen.alone:
        raise InputError(f"--jobs: the runs of {file} are timed (alone = true), so they go one by one")
    selected = chosen.selected(only)
    place = choose_device(device).type
    target = out or RUNS / chosen.name
    check_writable(target)
    ledger = Ledger(target / RECORDS)
    tables: dict[str, list[Summary]] = {}
    interrupted = False
    for name, labels in selected.items():
        tables[name], interrupted = _fill(chosen, name, labels, ledger, place, root, target, jobs, quiet)
        if interrupted:
            break
    if as_json:
        result = {"experiment": chosen.name, "device": place, "seeds": chosen.seeds, "out": str(target)}
        filled = [{"dataset": name, "summaries": [asdict(row) for row in rows]} for name, rows in tables.items()]
        print(json.dumps(result | {"interrupted": interrupted, "tables": filled}))  # noqa: T201
    if interrupted:
        raise KeyboardInterrupt
    for name, rows in tables.items():
        tried = [row for row in rows if row.label in selected[name]]
        if not any(row.done for row in tried):
            raise InputError(f"{name}: none of the variants could be run; {tried[0].label}, {tried[0].reasons[0]}")


@app.command(name="list")
def list_files(folder: Path = PAPER, /, *, root: Path | None = None) -> None:
    """List the experiments of a folder: file, number of runs, title.

    Args:
        folder: Of TOML files.
        root: Where data sets are looked for; else $MGGCN_DATA, else a per-user cache.
    """
    from mggcn.errors import InputError
    from mggcn.experiment import read_folder

    found = read_folder(folder)
    if not found:
        raise InputError(f"{folder}: holds no .toml file")
    rows = []
    for one in found:
        missing = one.missing(root)
        needs = f" (not runnable here: data set {', '.join(missing)} is yet to be made)" if missing else ""
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
    from mggcn.experiment import noted_identity
    from mggcn.ledger import Ledger
    from mggcn.run import choose_device

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


def _fill(
    chosen: "Experiment",
    name: str,
    labels: set[str],
    ledger: "Ledger",
    place: str,
    root: Path | None,
    target: Path,
    processes: int,
    quiet: bool,
) -> "tuple[list[Summary], bool]":
    """Carry out what is to do on one data set; its rows, and whether a person interrupted."""
    from functools import partial

    from mggcn import workers
    from mggcn.compare import execute, recall
    from mggcn.errors import InputError
    from mggcn.experiment import note_identity

    data = chosen.load(name, root)
    if data.split is None:
        raise InputError(f"{data.name}: no training labels (the data set has no split)")
    folder = target / folder_name(name)
    planned = chosen.plan(name, note_identity(folder / IDENTITY, data), place)
    outcomes = recall(planned, ledger)
    waiting = [job for job in planned if job.variant.label in labels and job.spec.digest not in ledger.records]

    def work(watch: "Callable[[Job], Progress]") -> "Iterator[Outcome]":
        if processes == 1:
            return execute(data, waiting, ledger, watch)
        return workers.execute(partial(chosen.load, name, root), waiting, ledger, processes)

    def summaries() -> "list[Summary]":
        return chosen.summarise(name, data, outcomes, place)

    interrupted = tabulate(
        data,
        f"{chosen.name}: {name} on {place}",
        len(outcomes) + len(waiting),
        outcomes,
        work,
        summaries,
        path=folder / TABLE,
        about=chosen.about(name),
        quiet=quiet,
    )
    return summaries(), interrupted


def _read(file: Path, seeds: int | None) -> "Experiment":
    from dataclasses import replace

    from mggcn.errors import InputError
    from mggcn.experiment import read

    if seeds is not None and seeds < 1:
        raise InputError(f"--seeds: {seeds} is less than 1")
    chosen = read(file)
    return chosen if seeds is None else replace(chosen, seeds=seeds)


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
