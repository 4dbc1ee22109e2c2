"""``mggcn tune``: search for the settings with which a method does best on the validation nodes."""

import json
import sys
from pathlib import Path
from typing import Literal

from mggcn.cli.compare import Settings
from mggcn.cli.tabulate import AsJson, Device, Switch, folder_name


def tune(
    dataset: str,
    /,
    *,
    method: str = "mg-gcn",
    trials: int = 30,
    seeds: int = 1,
    target: Literal["accuracy", "macro-f1"] = "accuracy",
    settings: Settings = None,
    device: Device = "auto",
    root: Path | None = None,
    out: Path | None = None,
    timeout: float | None = None,
    quiet: Switch = False,
    as_json: AsJson = False,
) -> None:
    """Search for a method's best settings by its validation nodes; started again, it goes on where it was.

    The first trial has the settings as they are. `mggcn train --config DIR/best.toml` trains with the best again.

    Args:
        dataset: A known name (see `mggcn data list`) or a dataset folder.
        method: Whose settings are searched.
        trials: How many in all, those in the folder included.
        seeds: Train each trial so many times, with seeds 0, 1, 2 ...; what counts is the mean.
        target: The figure of the validation nodes that is to become large.
        settings: Fix settings, as key=value; they are not searched.
        device: auto takes the GPU where there is one.
        root: Where data sets are looked for; else $MGGCN_DATA, else a per-user cache.
        out: The folder of trials.journal, records.jsonl and best.toml; tune/DATASET-METHOD unless given.
        timeout: Start no trial after so many seconds.
        quiet: Show only the result.
        as_json: End standard output with one line of JSON.
    """
    from dataclasses import asdict

    from mggcn import datasets, methods
    from mggcn.cli.train import check_writable, headline
    from mggcn.errors import InputError
    from mggcn.methods.settings import pairs
    from mggcn.train import choose_device
    from mggcn.tune import BEST, Search, Tuning, require_optuna
    from mggcn.tune.shown import choose, table

    if trials < 1:
        raise InputError(f"--trials: {trials} is less than 1")
    if seeds < 1:
        raise InputError(f"--seeds: {seeds} is less than 1")
    if timeout is not None and not timeout > 0:
        raise InputError(f"--timeout: {timeout:g} is not more than 0")
    require_optuna()
    place, fixed = choose_device(device).type, pairs(settings or [])
    methods.resolve(method, dataset, fixed)
    folder = out or Path("tune") / f"{folder_name(dataset)}-{method}"
    check_writable(folder)
    data = datasets.load(dataset, root=root)
    if not quiet:
        print(headline(data), file=sys.stderr)  # noqa: T201
    tuning = Tuning(Search(data, method, seeds, target, place, fixed), folder)
    interrupted = False
    with tuning.opened():
        done = len(tuning.trials)
        try:
            with choose(f"{data.name} {method}", trials, done, tuning.best, quiet=quiet) as shown:
                for trial in tuning.run(trials, shown.watch, timeout=timeout):
                    shown.show(trial, tuning.best)
        except KeyboardInterrupt:
            interrupted = True
        found, best = tuning.trials, tuning.best
    if best is not None:
        print(f"{table(found, target)}\nbest settings in {folder / BEST}")  # noqa: T201
    if as_json:
        told = {"dataset": data.name, "method": method, "target": target, "out": str(folder)}
        trials_told = {"best": asdict(best) if best else None, "trials": [asdict(one) for one in found]}
        print(json.dumps({**told, "interrupted": interrupted, **trials_told}))  # noqa: T201
    if interrupted:
        raise KeyboardInterrupt
