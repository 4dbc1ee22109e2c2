"""``mggcn experiment``: run the experiments of TOML files, list them, and count their finished runs."""

from pathlib import Path

from cyclopts import App

from mggcn.cli.options import DEFAULTS, Device, RunOptions, Switch

PAPER = Path("experiments/paper")

app = App(name="experiment", help="Run experiments that are described in TOML files, such as the paper's.")


@app.command
def run(
    file: Path,
    /,
    *,
    seeds: int | None = None,
    jobs: int = 1,
    only: str | None = None,
    out: Path | None = None,
    allow_import: Switch = False,
    options: RunOptions = DEFAULTS,
) -> None:
    """Run an experiment and write a table for each of its data sets; started again, it continues.

    A data set that is not available does not stop the others: its table says why, and the command ends with an error.

    Args:
        file: The experiment, such as experiments/paper/accuracy.toml.
        seeds: The number of runs of each variant, with seeds 0, 1, 2 ...; as in the file by default.
        jobs: The number of runs in parallel, which share the cores; times are then those of a busy machine.
        only: Run only where this is part of the name of the data set or of the label.
        out: The folder of records.jsonl and DATASET/table.md; default: experiments-runs/NAME.
        allow_import: Allow the file to import the Python code that it names.
        options: Shared options.
    """
    from mggcn.cli import running
    from mggcn.experiments import read

    running.run(read(file, allow_import=allow_import), options, seeds=seeds, jobs=jobs, only=only, out=out)


@app.command(name="list")
def list_files(folder: Path = PAPER, /, *, root: Path | None = None, allow_import: Switch = False) -> None:
    """List the experiments of a folder: file, number of runs, title.

    Args:
        folder: Of TOML files.
        root: The folder of data sets; default: $MGGCN_DATA, else a per-user cache.
        allow_import: Allow the files to import the Python code that they name.
    """
    from mggcn.cli.display import aligned
    from mggcn.errors import InputError
    from mggcn.experiments import read_folder

    rows = []
    for experiment in read_folder(folder, allow_import=allow_import):
        missing = experiment.missing(root)
        needs = f" (data yet to be made here: {', '.join(missing)})" if missing else ""
        rows.append([str(experiment.path), f"{experiment.num_runs} runs", experiment.title + needs])
    if not rows:
        raise InputError(f"{folder}: holds no .toml file")
    print(aligned(rows))


@app.command
def status(
    file: Path,
    /,
    *,
    seeds: int | None = None,
    device: Device = "auto",
    out: Path | None = None,
    allow_import: Switch = False,
) -> None:
    """Print how many runs of an experiment are done and to do, by data set and variant.

    Args:
        file: The experiment.
        seeds: As for run.
        device: As for run; runs on a CPU and on a GPU are counted separately.
        out: As for run.
        allow_import: As for run.
    """
    from mggcn import experiments
    from mggcn.cli.display import aligned
    from mggcn.training import choose_device

    on = choose_device(device)
    sections = experiments.status(experiments.read(file, allow_import=allow_import), seeds=seeds, device=on, out=out)
    counts = [(section.dataset, row) for section in sections for row in section.rows]
    rows = [[dataset, row.label, str(row.done), str(row.seeds - row.done)] for dataset, row in counts]
    print(aligned([["data set", "variant", "done", "to do"], *rows]))
    done, total = (sum(number) for number in zip(*((row.done, row.seeds) for _, row in counts), strict=True))
    print(f"{done} of {total} runs on {on.type} are done")
