"""``mggcn compare`` and ``mggcn ablate``: train methods or variants with several seeds, leave records and a table."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from mggcn.cli.tabulate import RECORDS, TABLE, AsJson, Device, Switch, folder_name, tabulate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mggcn.experiments.schedule import Variant

Settings = Annotated[list[str] | None, Parameter(name="--set", consume_multiple=True, negative=())]


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
    """Train several methods on a data set and put them in one table; started again, it goes on where it was.

    Args:
        dataset: A known name (see `mggcn data list`) or a dataset folder.
        methods: Names with commas between them, or all.
        seeds: Train each so many times, with seeds 0, 1, 2 ...
        settings: Change settings, as key=value, of the methods that have them.
        device: auto takes the GPU where there is one.
        root: Where data sets are looked for; else $MGGCN_DATA, else a per-user cache.
        out: The folder of records.jsonl and table.md; compare/DATASET unless given.
        quiet: Show only the table.
        as_json: End standard output with one line of JSON.
    """
    from mggcn.errors import InputError
    from mggcn.experiments.schedule import variants_of

    variants = variants_of([name.strip() for name in methods.split(",") if name.strip()])
    if not variants:
        raise InputError(f"--methods: {methods!r} names none")
    folder = out or Path("compare") / folder_name(dataset)
    _run(dataset, variants, seeds, settings or [], device, root, folder, quiet, as_json)


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
    """Train MG-GCN with one of its parts changed at a time and put the variants in one table.

    Args:
        dataset: A known name (see `mggcn data list`) or a dataset folder.
        seeds: Train each variant so many times, with seeds 0, 1, 2 ...
        settings: Change settings, as key=value, of all variants.
        device: auto takes the GPU where there is one.
        root: Where data sets are looked for; else $MGGCN_DATA, else a per-user cache.
        out: The folder of records.jsonl and table.md; ablate/DATASET unless given.
        quiet: Show only the table.
        as_json: End standard output with one line of JSON.
    """
    from mggcn.experiments.ablation import VARIANTS

    folder = out or Path("ablate") / folder_name(dataset)
    _run(dataset, VARIANTS, seeds, settings or [], device, root, folder, quiet, as_json)


def _run(
    dataset: str,
    variants: "Sequence[Variant]",
    seeds: int,
    assignments: list[str],
    device: str,
    root: Path | None,
    out: Path,
    quiet: bool,
    as_json: bool,
) -> None:
    from dataclasses import asdict

    from mggcn import datasets
    from mggcn.cli.train import check_writable
    from mggcn.errors import InputError
    from mggcn.experiments.schedule import execute, plan, recall, resolve, summarise
    from mggcn.methods.settings import pairs
    from mggcn.records.ledger import Ledger
    from mggcn.records.summary import Summary
    from mggcn.train import choose_device

    if seeds < 1:
        raise InputError(f"--seeds: {seeds} is less than 1")
    common = pairs(assignments)
    place = choose_device(device).type
    resolve(variants, dataset, common)
    check_writable(out)
    ledger = Ledger(out / RECORDS)
    data = datasets.load(dataset, root=root)
    jobs = plan(data, variants, range(seeds), device=place, common=common)
    outcomes = recall(jobs, ledger)

    def summaries() -> list[Summary]:
        return summarise(data, variants, outcomes, seeds, place, common)

    changed = "".join(f" {name}={value}" for name, value in common.items())
    about = f"Settings changed:{changed}" if changed else ""
    interrupted = tabulate(
        data,
        f"{data.name} on {place}",
        len(jobs),
        outcomes,
        lambda watch: execute(data, jobs, ledger, watch),
        summaries,
        path=out / TABLE,
        about=about,
        quiet=quiet,
    )
    found = summaries()
    if as_json:
        result = {"dataset": data.name, "device": place, "seeds": seeds, "out": str(out), "interrupted": interrupted}
        print(json.dumps(result | {"summaries": [asdict(one) for one in found]}))  # noqa: T201
    if interrupted:
        raise KeyboardInterrupt
    if not any(one.done for one in found):
        raise InputError(f"{data.name}: none of the methods could be run; {found[0].label}, {found[0].reasons[0]}")
