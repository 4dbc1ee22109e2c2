"""``mggcn compare``, ``ablate``, ``experiment`` and ``report``: tables of methods and variants with several seeds."""

from pathlib import Path
from typing import Literal

from cyclopts import App

from mggcn.cli.options import DEFAULTS, Device, Preset, RunOptions, Settings, Switch

PAPER = Path("experiments/paper")

app = App(name="experiment", help="Run experiments that are described in TOML files, such as the paper's.")


def compare(
    dataset: str,
    /,
    *others: str,
    methods: str = "all",
    seeds: int = 3,
    splits: int = 0,
    preset: Preset = "default",
    settings: Settings = None,
    per_class: Switch = False,
    out: Path | None = None,
    options: RunOptions = DEFAULTS,
) -> None:
    """Train several methods on a data set and put them in one table; started again, it continues.

    With several data sets, such as a random split and one by time, a last table shows their results side by side.

    Args:
        dataset: A known name (see `mggcn data list`) or a dataset folder.
        others: Further data sets.
        methods: Names (see `mggcn methods`) or package.module:Class, separated by commas, or all.
        seeds: The number of runs of each method, with seeds 0, 1, 2 ...; with three or more, the table says which
            methods are first, tied or behind.
        splits: Repeat the runs on this many random splits, for data without a published split.
        preset: Where the settings start: our recipes, or what the methods' papers use.
        settings: Change settings, as key=value, of the methods that have them.
        per_class: Also print for every class how well its probability ranks the test nodes: areas under curves,
            precision at k, and the alerts at a precision of 95 % on the validation nodes.
        out: The folder of records.jsonl and table.md, with several data sets a folder of such folders; default:
            compare/DATASET.
        options: Shared options.
    """
    from mggcn.cli import running
    from mggcn.errors import InputError
    from mggcn.experiments import beside, comparison
    from mggcn.methods.settings import pairs

    names = [name.strip() for name in methods.split(",") if name.strip()]
    if not names:
        raise InputError(f"--methods: {methods!r} names none")
    if others and options.as_json:
        raise InputError("--json: prints one line for one data set")
    sections = []
    for name in (dataset, *others):
        experiment = comparison(name, names, splits=splits, settings=pairs(settings or []), preset=preset)
        folder = out / experiment.folder.name if out and others else out
        sections += running.run(experiment, options, seeds=seeds, out=folder, per_class=per_class)
    if others:
        print(f"\n{beside(sections).markdown()}")


def ablate(
    dataset: str,
    /,
    *,
    seeds: int = 3,
    settings: Settings = None,
    out: Path | None = None,
    options: RunOptions = DEFAULTS,
) -> None:
    """Train MG-GCN with one part changed at a time and put the variants in one table; started again, it continues.

    Args:
        dataset: A known name (see `mggcn data list`) or a dataset folder.
        seeds: The number of runs of each variant, with seeds 0, 1, 2 ...
        settings: Change settings, as key=value, of all variants.
        out: The folder of records.jsonl and table.md; default: ablate/DATASET.
        options: Shared options.
    """
    from mggcn.cli import running
    from mggcn.experiments import ablation
    from mggcn.methods.settings import pairs

    running.run(ablation(dataset, settings=pairs(settings or [])), options, seeds=seeds, out=out)


def report(
    runs: list[Path],
    /,
    *,
    out: Path,
    format: Literal["html", "md", "json"] = "html",  # noqa: A002
) -> None:
    """Put runs and comparisons into one document: a self-contained page with charts, or tables.

    Args:
        runs: Run folders, folders of experiments, records.jsonl files as `mggcn compare` writes them, files that
            this command wrote with --format json, or folders that contain these.
        out: The file to write.
        format: html has tables and charts; md has the tables; json is the packed records, from which the others
            can be made again.
    """
    from mggcn._io import regular
    from mggcn._io.files import check_file, write_atomically
    from mggcn.errors import InputError
    from mggcn.experiments import read_records, record_files, render

    check_file(out)
    if regular.real(out) in record_files(runs):
        raise InputError(f"--out: {out} is one of the files that the report is made of")
    sections = read_records(runs)
    content = render(sections, format).encode()
    write_atomically(out, content)
    count = sum(row.done for section in sections for row in section.rows)
    print(f"{count:,} run{'s' * (count != 1)} in {out}, {len(content) / 1000:,.0f} kB")


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
