"""``mggcn tune``: search for the settings of a method with the best validation metric."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mggcn.cli.options import DEFAULTS, Preset, RunOptions, Settings

if TYPE_CHECKING:
    from mggcn.cli.display import Display
    from mggcn.records import Epoch
    from mggcn.tune import Trial


def tune(
    dataset: str,
    /,
    *,
    method: str = "mg-gcn",
    preset: Preset = "default",
    trials: int = 30,
    seeds: int = 1,
    target: Literal["accuracy", "macro-f1"] = "accuracy",
    settings: Settings = None,
    out: Path | None = None,
    timeout: float | None = None,
    options: RunOptions = DEFAULTS,
) -> None:
    """Search for the settings of a method with the best validation metric; started again, it continues.

    The first trial uses the default settings. `mggcn train --config DIR/best.toml` trains with the best settings.

    Args:
        dataset: A known name (see `mggcn data list`) or a dataset folder.
        method: The method (see `mggcn methods`).
        preset: The settings of the first trial: our recipe, or what the method's paper uses.
        trials: The number of all trials, including those already in the folder.
        seeds: The number of runs per trial, with seeds 0, 1, 2 ...; the mean counts.
        target: The validation metric to maximise.
        settings: Fix settings, as key=value; they are not searched.
        out: The folder of trials.journal, records.jsonl and best.toml; default: tune/DATASET-METHOD.
        timeout: Start no trial after this many seconds.
        options: Shared options.
    """
    from dataclasses import asdict

    from mggcn import datasets, methods
    from mggcn.cli.display import Display
    from mggcn.dataset import headline
    from mggcn.errors import InputError
    from mggcn.experiments import folder_name
    from mggcn.files import check_writable
    from mggcn.methods.settings import pairs
    from mggcn.train import choose_device
    from mggcn.tune import BEST, Search, Tuning, require_optuna

    for name, count in (("trials", trials), ("seeds", seeds)):
        if count < 1:
            raise InputError(f"--{name}: {count} is less than 1")
    if timeout is not None and not timeout > 0:
        raise InputError(f"--timeout: {timeout:g} is not more than 0")
    require_optuna()
    run_device, fixed = choose_device(options.device or "auto"), pairs(settings or [])
    methods.resolve(method, dataset, fixed, preset=preset)
    folder = out or Path("tune") / f"{folder_name(dataset)}-{method}"
    check_writable(folder)
    data = datasets.load(dataset, root=options.root)
    if not options.quiet:
        print(headline(data), file=sys.stderr)  # noqa: T201
    tuning = Tuning(Search(data, method, seeds, target, run_device, fixed, preset), folder)
    interrupted = False
    with tuning.opened():
        done = len(tuning.trials)
        try:
            with Display(quiet=options.quiet) as display:
                shown = _Trials(display, f"{data.name} {method}", trials, done, tuning.best)
                for trial in tuning.run(trials, shown.watch, timeout=timeout):
                    shown.finished(trial, tuning.best)
        except KeyboardInterrupt:
            interrupted = True
        finished, best = tuning.trials, tuning.best
    if best is not None:
        print(f"{_table(finished, target)}\n\nbest settings in {folder / BEST}")  # noqa: T201
    if options.as_json:
        result = {"dataset": data.name, "method": method, "target": target, "out": str(folder)}
        values = {"best": asdict(best) if best else None, "trials": [asdict(trial) for trial in finished]}
        print(json.dumps({**result, "interrupted": interrupted, **values}))  # noqa: T201
    if interrupted:
        raise KeyboardInterrupt


class _Trials:
    """Shows the trials of a search: a bar, or a line for each finished trial."""

    def __init__(self, display: "Display", title: str, total: int, done: int, best: "Trial | None") -> None:
        self._display, self._title, self._total, self._done, self._best = display, title, total, done, best
        self._number = 0
        self._show("")
        if done:
            display.line(f"{min(done, total)} of {total} trials are done already")

    def watch(self, trial: "Trial") -> "_Trials":
        """Show that a trial starts; its epochs are shown, too."""
        self._number = trial.number
        self._show(f"trial {trial.number}: preparing")
        return self

    def epoch(self, epoch: "Epoch") -> None:
        """Show an epoch of the trial."""
        self._show(f"trial {self._number}: epoch {epoch.number}, val accuracy {epoch.val_accuracy:.2%}")

    def finished(self, trial: "Trial", best: "Trial | None") -> None:
        """Show the result of a trial and the best one so far."""
        self._done, self._best = trial.number, best
        self._show("")
        reached = trial.reason if trial.value is None else f"{trial.value:.2%}"
        mark = ", the best so far" if best is not None and best.number == trial.number else ""
        self._display.line(f"[{trial.number}/{self._total}] {reached}{mark}: {_text(trial.settings)}")

    def _show(self, now: str) -> None:
        best = self._best
        reached = "" if best is None or best.value is None else f"best {best.value:.2%} (trial {best.number})  "
        self._display.bar(self._title, self._done, self._total, reached + now)


def _table(trials: "Sequence[Trial]", target: str, most: int = 5) -> str:
    """The best trials and the first one, the best first."""
    from mggcn.cli.table import aligned

    ranked = sorted((trial for trial in trials if trial.value is not None), key=lambda trial: -(trial.value or 0.0))
    rows = [["trial", f"val {target}, %", "settings"]]
    for trial in [*ranked[:most], *(trial for trial in ranked[most:] if trial.number == 1)]:
        name = f"{trial.number}{' (default settings)' * (trial.number == 1)}"
        rows.append([name, f"{(trial.value or 0.0) * 100:.2f}", _text(trial.settings)])
    return aligned(rows, right=(1,))


def _text(settings: Mapping[str, object]) -> str:
    """Settings as ``--set`` takes them, numbers with four digits."""
    return " ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in settings.items()
    )
