"""``mggcn tune``: search for the settings of a method with the best validation metric."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from cyclopts.types import PositiveFloat, PositiveInt

from mggcn.cli.options import DEFAULTS, Preset, RunOptions, Settings, setting_words, with_flags

if TYPE_CHECKING:
    from mggcn.cli.display import Display
    from mggcn.experiments import Trial, Tuning
    from mggcn.training import Epoch

_MOST_SHOWN = 5


def tune(
    dataset: str,
    /,
    *,
    method: str = "mg-gcn",
    preset: Preset = "default",
    trials: PositiveInt = 30,
    seeds: PositiveInt = 1,
    target: Literal["accuracy", "macro-f1"] = "accuracy",
    settings: Settings = None,
    out: Path | None = None,
    timeout: PositiveFloat | None = None,
    options: RunOptions = DEFAULTS,
) -> None:
    """Search for the settings of a method with the best validation metric; started again, it continues.

    The first trial uses the default settings. `mggcn train --config DIR/best.toml` trains with the best settings;
    `mggcn train DATASET --tune N` does both.

    Args:
        dataset: A known name (see `mggcn data list`) or a dataset folder.
        method: The method (see `mggcn methods`).
        preset: The settings of the first trial: our recipe, or what the method's paper uses.
        trials: The number of all trials, including those already in the folder.
        seeds: The number of runs per trial, with seeds 0, 1, 2 ...; the mean counts.
        target: The validation metric to maximise.
        settings: Fix settings, as key=value; they are not searched.
        out: The folder of trials.jsonl, records.jsonl and best.toml; default: tune/DATASET-METHOD.
        timeout: Start no trial after this many seconds.
        options: Shared options.
    """
    from mggcn._io.files import check_writable
    from mggcn.cli.display import Display
    from mggcn.data import headline, load_with
    from mggcn.experiments import BEST, Search, Tuning, require_optuna
    from mggcn.methods.settings import pairs
    from mggcn.runs import resolve
    from mggcn.training import choose_device

    require_optuna()
    run_device, fixed = choose_device(options.device or "auto"), pairs(settings or [])
    resolve(method, dataset, fixed, preset=preset)
    folder = out or default_folder(dataset, method)
    check_writable(folder)
    data = load_with(options.access, dataset, root=options.root)
    options.note(headline(data))
    tuning = Tuning(Search(data, method, seeds, target, run_device, fixed, preset), folder)
    interrupted = False
    with tuning.opened():
        try:
            with Display(quiet=options.quiet) as display:
                TrialDisplay(display, f"{data.name} {method}", trials).run(tuning, timeout=timeout)
        except KeyboardInterrupt:
            interrupted = True
        finished, best = tuning.trials, tuning.best
    if best is not None:
        print(f"{_table(finished, target)}\n\nbest settings in {folder / BEST}")
    if options.as_json:
        result = {"dataset": data.name, "method": method, "target": target, "out": str(folder)}
        values = {"best": asdict(best) if best else None, "trials": [asdict(trial) for trial in finished]}
        print(json.dumps({**result, "interrupted": interrupted, **values}))
    if interrupted:
        raise KeyboardInterrupt


def default_folder(dataset: str, method: str) -> Path:
    """The folder of a search that names none."""
    from mggcn.experiments import folder_name

    return Path("tune") / f"{folder_name(dataset)}-{method}"


class TrialDisplay:
    """Shows the trials of a search and the runs that follow it, if any: one bar, or lines.

    Args:
        display: where it is shown.
        title: the name of the bar.
        trials: the number of trials.
        runs: the number of runs with the best settings that follow.
    """

    def __init__(self, display: "Display", title: str, trials: int, runs: int = 0) -> None:
        self._display, self._title, self._trials, self._runs = display, title, trials, runs
        self._done, self._now = 0, ""
        self._best: Trial | None = None

    def run(self, tuning: "Tuning", *, timeout: float | None = None) -> None:
        """Run the trials of a search that is open."""
        self._best, self._done = tuning.best, min(len(tuning.trials), self._trials)
        self._show("")
        if self._done:
            self._display.line(f"{self._done} of {self._trials} trials are done already")
        for trial in tuning.run(self._trials, lambda trial: self._starts(f"trial {trial.number}"), timeout=timeout):
            self._best, self._done = tuning.best, trial.number
            self._show("")
            reached = with_flags(trial.reason) if trial.value is None else f"{trial.value:.2%}"
            mark = ", the best so far" if self._best is not None and self._best.number == trial.number else ""
            self._display.line(f"[{trial.number}/{self._trials}] {reached}{mark}: {setting_words(trial.settings)}")

    @contextmanager
    def training(self, seed: int) -> Iterator[Self]:
        """Show a run with the best settings; yields the receiver of its epochs."""
        name = f"best settings, seed {seed}"
        self._display.line(name)
        yield self._starts(name)
        self._done += 1
        self._show("")

    def epoch(self, epoch: "Epoch") -> None:
        """Show an epoch of a trial or a run."""
        self._show(f"{self._now}: epoch {epoch.number}, val accuracy {epoch.val_accuracy:.2%}")

    def _starts(self, name: str) -> Self:
        self._now = name
        self._show(f"{name}: preparing")
        return self

    def _show(self, now: str) -> None:
        best = self._best
        reached = "" if best is None or best.value is None else f"best {best.value:.2%} (trial {best.number})  "
        self._display.bar(self._title, self._done, self._trials + self._runs, reached + now)


def _table(trials: "Sequence[Trial]", target: str) -> str:
    """The best trials and the first one, the best first."""
    from mggcn.cli.display import aligned

    ranked = sorted((trial for trial in trials if trial.value is not None), key=lambda trial: -(trial.value or 0.0))
    rows = [["trial", f"val {target}, %", "settings"]]
    for position, trial in enumerate(ranked):
        if position < _MOST_SHOWN or trial.number == 1:
            name = f"{trial.number}{' (default settings)' * (trial.number == 1)}"
            rows.append([name, f"{(trial.value or 0.0) * 100:.2f}", setting_words(trial.settings)])
    return aligned(rows, right=(1,))
