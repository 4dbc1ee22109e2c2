"""``mggcn compare`` and ``mggcn ablate``: train methods or variants with several seeds, leave records and a table."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mggcn.compare import Variant

RECORDS, TABLE = "records.jsonl", "table.md"

Settings = Annotated[list[str] | None, Parameter(name="--set", consume_multiple=True, negative=())]
Switch = Annotated[bool, Parameter(negative=())]
AsJson = Annotated[bool, Parameter(name="--json", negative=())]
Device = Literal["auto", "cpu", "cuda"]


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
    from mggcn.compare import variants_of
    from mggcn.errors import InputError

    variants = variants_of([name.strip() for name in methods.split(",") if name.strip()])
    if not variants:
        raise InputError(f"--methods: {methods!r} names none")
    folder = out or Path("compare") / _name(dataset)
    _tabulate(dataset, variants, seeds, settings or [], device, root, folder, quiet, as_json)


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
    from mggcn.ablation import VARIANTS

    folder = out or Path("ablate") / _name(dataset)
    _tabulate(dataset, VARIANTS, seeds, settings or [], device, root, folder, quiet, as_json)


def _tabulate(
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

    from mggcn import board, datasets, storage
    from mggcn.cli.train import check_writable, headline
    from mggcn.compare import execute, plan, recall, resolve, summarise
    from mggcn.errors import InputError
    from mggcn.ledger import Ledger
    from mggcn.run import choose_device
    from mggcn.settings import pairs
    from mggcn.summary import NOTES, Summary, markdown

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
        return summarise(data, variants, outcomes, seeds, place)

    def page() -> bytes:
        changed = "".join(f" {name}={value}" for name, value in common.items())
        about = headline(data) + (f"\nSettings changed:{changed}" if changed else "")
        return f"{about}\n\n{markdown(summaries())}\n{NOTES}\n".encode()

    if not quiet:
        print(headline(data), file=sys.stderr)  # noqa: T201
    interrupted = False
    try:
        with board.choose(f"{data.name} on {place}", len(jobs), len(outcomes), summaries, quiet=quiet) as shown:
            for outcome in execute(data, jobs, ledger, shown.watch):
                outcomes.append(outcome)
                shown.show(outcome)
                storage.write_atomically(out / TABLE, page())
    except KeyboardInterrupt:
        interrupted = True
    found = summaries()
    storage.write_atomically(out / TABLE, page())
    print(markdown(found), end="")  # noqa: T201
    if as_json:
        result = {"dataset": data.name, "device": place, "seeds": seeds, "out": str(out), "interrupted": interrupted}
        print(json.dumps(result | {"summaries": [asdict(one) for one in found]}))  # noqa: T201
    if interrupted:
        raise KeyboardInterrupt
    if not any(one.done for one in found):
        raise InputError(f"{data.name}: none of the methods could be run; {found[0].label}, {found[0].reasons[0]}")


def _name(dataset: str) -> str:
    return Path(dataset).absolute().name.replace(":", "-")
