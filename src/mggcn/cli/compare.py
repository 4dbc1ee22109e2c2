"""``mggcn compare`` and ``mggcn ablate``: train methods or variants with several seeds; write records and a table."""

from pathlib import Path

from mggcn.cli.options import DEFAULTS, Preset, RunOptions, Settings, Switch


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
        seeds: The number of runs of each method, with seeds 0, 1, 2 ...
        splits: Repeat the runs on this many random splits, for data without a published split.
        preset: Where the settings start: our recipes, or what the methods' papers use.
        settings: Change settings, as key=value, of the methods that have them.
        per_class: Also print for every class how well its probability ranks the test nodes: areas under curves,
            precision at k, and the alerts at a precision of 95 % on the validation nodes.
        out: The folder of records.jsonl and table.md, with several data sets a folder of such folders; default:
            compare/DATASET.
        options: Shared options.
    """
    from mggcn.cli.running import run
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
        sections += run(experiment, options, seeds=seeds, out=folder, per_class=per_class)
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
    from mggcn.cli.running import run
    from mggcn.experiments import ablation
    from mggcn.methods.settings import pairs

    run(ablation(dataset, settings=pairs(settings or [])), options, seeds=seeds, out=out)
