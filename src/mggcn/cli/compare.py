"""``mggcn compare`` and ``mggcn ablate``: train methods or variants with several seeds; write records and a table."""

from pathlib import Path

from mggcn.cli.options import AsJson, Device, Settings, Switch


def compare(
    dataset: str,
    /,
    *,
    methods: str = "all",
    seeds: int = 3,
    settings: Settings = None,
    device: Device = "auto",
    root: Path | None = None,
    out: Path | None = None,
    quiet: Switch = False,
    as_json: AsJson = False,
) -> None:
    """Train several methods on a data set and put them in one table; started again, it continues.

    Args:
        dataset: A known name (see `mggcn data list`) or a dataset folder.
        methods: Names (see `mggcn methods`) or package.module:Class, separated by commas, or all.
        seeds: The number of runs of each method, with seeds 0, 1, 2 ...
        settings: Change settings, as key=value, of the methods that have them.
        device: auto takes the GPU if there is one.
        root: Where data sets are searched; else $MGGCN_DATA, else a per-user cache.
        out: The folder of records.jsonl and table.md; compare/DATASET by default.
        quiet: Show only the table.
        as_json: End standard output with one line of JSON.
    """
    from mggcn.cli.running import run
    from mggcn.errors import InputError
    from mggcn.experiments import comparison
    from mggcn.methods.settings import pairs

    names = [name.strip() for name in methods.split(",") if name.strip()]
    if not names:
        raise InputError(f"--methods: {methods!r} names none")
    experiment = comparison(dataset, names, settings=pairs(settings or []))
    run(experiment, seeds=seeds, device=device, root=root, out=out, quiet=quiet, as_json=as_json)


def ablate(
    dataset: str,
    /,
    *,
    seeds: int = 3,
    settings: Settings = None,
    device: Device = "auto",
    root: Path | None = None,
    out: Path | None = None,
    quiet: Switch = False,
    as_json: AsJson = False,
) -> None:
    """Train MG-GCN with one part changed at a time and put the variants in one table; started again, it continues.

    Args:
        dataset: A known name (see `mggcn data list`) or a dataset folder.
        seeds: The number of runs of each variant, with seeds 0, 1, 2 ...
        settings: Change settings, as key=value, of all variants.
        device: auto takes the GPU if there is one.
        root: Where data sets are searched; else $MGGCN_DATA, else a per-user cache.
        out: The folder of records.jsonl and table.md; ablate/DATASET by default.
        quiet: Show only the table.
        as_json: End standard output with one line of JSON.
    """
    from mggcn.cli.running import run
    from mggcn.experiments import ablation
    from mggcn.methods.settings import pairs

    experiment = ablation(dataset, settings=pairs(settings or []))
    run(experiment, seeds=seeds, device=device, root=root, out=out, quiet=quiet, as_json=as_json)
