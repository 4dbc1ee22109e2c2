"""Search of settings: which values are tried for which metric, and the trials, each stored when it is finished."""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import tomli_w
import torch

from mggcn import methods
from mggcn._io.files import typed, write_atomically
from mggcn._io.log import Log
from mggcn.data import Dataset
from mggcn.errors import InputError, first_line, prefix_errors
from mggcn.experiments._records import Ledger
from mggcn.keys import Key
from mggcn.runs import Plan, continued, fit_plan, resolve
from mggcn.training import Epoch, Finite, Progress, RunRecord, Training, difference

TRIALS, RECORDS, BEST = "trials.jsonl", "records.jsonl", "best.toml"

_CPU = torch.device("cpu")
_EPOCHS_PER_REPORT = 10
_EPOCHS_BEFORE_PRUNING, _TRIALS_BEFORE_PRUNING = 20, 5
_KEPT_PERCENT = 75.0  # of the trials at the same epoch

Metric = Literal["accuracy", "macro-f1"]


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, whole if the bounds are; uniform on a logarithmic scale if ``log``."""

    low: float
    high: float
    log: bool = False


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    values: tuple[object, ...]


SPACE: Mapping[str, Range | Choice] = MappingProxyType(
    {
        "lr": Range(1e-3, 1e-1, log=True),
        "weight_decay": Choice((0.0, 1e-5, 1e-4, 5e-4, 1e-3, 5e-3)),
        "batch_size": Choice((64, 128, 256, 512, 1024)),
        "layers": Range(1, 3),
        "hidden": Choice((16, 32, 64, 128, 256)),
        "dropout": Choice((0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)),
        "picks": Range(1, 25, log=True),
        "explore": Choice(("both", "breadth", "depth")),
        "pick_by": Choice(("degree", "uniform")),
        "fine_norm": Choice(("mean", "symmetric", "half")),
        "samples": Choice((64, 128, 256, 400, 512, 1024)),
        "fanouts": Choice(("5,5", "10,5", "10,10", "15,10", "25,10")),
        "fanout": Choice((1, 2, 4, 8)),
        "hops": Range(1, 4),
        "heads": Choice((1, 2, 4)),
        "norm": Choice(("row", "symmetric")),
        "pool": Choice((1, 2, 4)),
        "state": Choice((1, 2)),
        "variance": Choice((0.0, 0.001, 0.01, 0.1, 0.5, 1.0)),
        "parts_per_batch": Choice((1, 2, 5, 10, 20)),
        "roots": Choice((100, 300, 1000, 3000)),
        "walk": Range(1, 4),
        "alpha": Range(0.5, 0.99),
        "iterations": Choice((10, 20, 50, 100)),
        "walks": Choice((5, 10, 20, 40)),
        "window": Choice((2, 5, 10)),
        "p": Choice((0.25, 0.5, 1.0, 2.0, 4.0)),
        "q": Choice((0.25, 0.5, 1.0, 2.0, 4.0)),
        "trees": Choice((50, 100, 200, 500)),
        "max_depth": Choice((0, 4, 8, 16)),
        "min_leaf": Choice((1, 2, 5, 10)),
        "leaves": Choice((7, 15, 31, 63)),
        "shrinkage": Range(0.01, 0.3, log=True),
        "scaling": Choice(("row", "root", "tfidf", "standard")),
        "input_dropout": Choice((0.0, 0.2, 0.4, 0.5, 0.6, 0.8)),
        "label_smoothing": Choice((0.0, 0.05, 0.1, 0.2)),
        "consistency": Choice((0.0, 0.5, 1.0, 2.0)),
        "averaging": Choice((0.0, 0.9, 0.95, 0.98)),
        "class_weights": Choice(("none", "balanced")),
        "balanced": Choice((False, True)),
    }
)
"""The values that are searched for each setting; a search covers those settings of the method that are listed here."""

_FOR_RARE_CLASSES = ("class_weights", "balanced")
_SCALINGS = {"sparse": ("row", "root", "tfidf"), "dense": ("standard", "root")}  # the first is what "auto" means


@dataclass(frozen=True, eq=False)
class Search:
    """The description of a search.

    Attributes:
        dataset: with a split.
        method: a name from :data:`mggcn.methods.METHODS`.
        seeds: the number of runs of each trial, with seeds 0, 1, 2, …
        target: the validation metric to maximise.
        device: the device of the runs.
        fixed: settings that are not searched.
        preset: the settings of the first trial.
    """

    dataset: Dataset
    method: str
    seeds: int = 1
    target: Metric = "accuracy"
    device: torch.device = _CPU
    fixed: Mapping[str, object] = field(default_factory=dict)
    preset: methods.Preset = "default"

    def __post_init__(self) -> None:
        self.dataset.require_split()
        if self.seeds < 1:
            raise InputError(f"seeds: {self.seeds} is less than 1")

    def plan(self, settings: Mapping[str, object], seed: int = 0) -> Plan:
        """The method with the fixed settings and these, as a single recipe."""
        changes = {**self.fixed, **settings, "portfolio": "none"}
        return resolve(self.method, self.dataset, changes, preset=self.preset, seed=seed, device=self.device)

    @property
    def start(self) -> dict[str, object]:
        """The settings that are searched, with their values without a search."""
        plan = self.plan({})
        names = {field.name for field in fields(plan.method)}
        model = plan.method.model(
            plan.method.input_width(1, self.dataset.graph.schema), 2, torch.Generator().manual_seed(0)
        )
        if any(parameter.requires_grad for parameter in model.parameters()):  # only then training has settings
            names |= {field.name for field in fields(Training)}
        names -= {*self.fixed, *(_FOR_RARE_CLASSES if self.target == "accuracy" else ())}
        names -= {"consistency"} if plan.method.redraws_targets else set()
        names -= {"scaling"} if not plan.method.uses_features else set()
        values = {name: plan.settings[name] for name in SPACE if name in names}
        if not values:
            raise InputError(f"{self.method}: no setting is left to be searched")
        return values

    @property
    def space(self) -> dict[str, Range | Choice]:
        """The values of each searched setting, extended if necessary to contain the start."""
        return {name: self._values(name, value) for name, value in self.start.items()}

    def _values(self, name: str, start: Any) -> Range | Choice:
        space = SPACE[name]
        if isinstance(space, Range):
            return replace(space, low=min(space.low, start), high=max(space.high, start))
        values = space.values
        if name == "scaling":
            values = _SCALINGS["sparse" if self.dataset.is_sparse else "dense"]
            values = values[1:] if start == "auto" else values
        return Choice(values if start in values else (start, *values))

    @property
    def identity(self) -> dict[str, Any]:
        """What must be the same for a search to continue."""
        of_run = {name: value for name, value in self.plan({}).identity.items() if name != "seed"}
        return of_run | {"seeds": self.seeds, "target": self.target, "tried": list(self.start)}

    def value(self, records: Sequence[RunRecord]) -> float:
        """The value of a trial: the mean validation metric of its runs."""
        return statistics.fmean(
            record.val_accuracy if self.target == "accuracy" else record.val_macro_f1 for record in records
        )


@dataclass(frozen=True)
class Trial:
    """A finished trial.

    Attributes:
        number: counted from 1.
        settings: the values of the searched settings.
        value: the mean validation metric over the seeds; None if the trial was given up.
        reason: the reason for that.
    """

    number: int
    settings: Mapping[str, Any]
    value: Finite | None
    reason: str = ""


class Tuning:
    """A search in a folder; while it is open, no other process can search there.

    Args:
        search: the description of the search.
        folder: created if it is missing; the same search in it is continued.
    """

    def __init__(self, search: Search, folder: Path) -> None:
        self._optuna = require_optuna()
        self._search, self._folder, self._start = search, folder, search.start
        self._space = {name: self._distribution(values) for name, values in search.space.items()}
        self._log = Log(folder / TRIALS, "a line of trials", dict)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Lock the folder and read the finished trials."""
        with self._log.held() as lines:
            if not lines:
                self._log.append({"search": self._search.identity})
            stored = lines[0].get("search") if lines else self._search.identity
            if changed := difference(self._search.identity, stored if isinstance(stored, dict) else {}, ", now"):
                raise InputError(f"{self._log.path}: belongs to another search ({changed}); use another folder")
            self._ledger = Ledger(self._folder / RECORDS)
            self._trials: list[tuple[Trial, Any]] = []
            for number, line in enumerate(lines[1:], 1):
                with prefix_errors(f"{self._log.path}: trial {number}"):
                    self._add(typed(Trial, line | {"number": number}))
            self._write_best()
            yield

    @property
    def trials(self) -> list[Trial]:
        """All finished trials in order."""
        return [trial for trial, _ in self._trials]

    @property
    def best(self) -> Trial | None:
        """The best trial, the first of equal ones."""
        finished = (trial for trial in self.trials if trial.value is not None)
        return max(finished, key=lambda trial: trial.value or 0.0, default=None)

    @property
    def best_plan(self) -> Plan:
        """The method with the settings of the best trial; those of the first if none is finished."""
        return self._search.plan(self.best.settings if self.best else self._start)

    def run(self, trials: int, watch: Callable[[Trial], Progress], *, timeout: float | None = None) -> Iterator[Trial]:
        """Run trials until there are this many, including those in the folder; yield each new one.

        Args:
            trials: the number of all trials.
            watch: called with each trial when it starts; returns the receiver of its epochs.
            timeout: start no trial after this many seconds.
        """
        started = time.monotonic()
        while len(self._trials) < trials and (timeout is None or time.monotonic() - started < timeout):
            yield self._next(watch)

    def _next(self, watch: Callable[[Trial], Progress]) -> Trial:
        """Run one trial; it is stored only when it is finished, so that a killed one leaves only its records."""
        asked = self._study().ask(self._space)
        trial = Trial(len(self._trials) + 1, asked.params, None)
        progress = watch(trial)
        try:
            trial = replace(trial, value=self._search.value(self._train(asked, progress)))
        except InputError as error:
            if not self._trials:
                raise
            trial = replace(trial, reason=str(error))
        self._log.append(asdict(trial))
        self._add(trial)
        self._write_best()
        return trial

    def _study(self) -> Any:
        """A study in memory with the finished trials, ready for the next; the first trial has the start's values."""
        count, optuna = len(self._trials), self._optuna
        study = optuna.create_study(
            direction="maximize",
            sampler=optuna.samplers.TPESampler(seed=Key.of(0).fold("tune", count).value >> 32),
            pruner=optuna.pruners.PercentilePruner(
                _KEPT_PERCENT, n_startup_trials=_TRIALS_BEFORE_PRUNING, n_warmup_steps=_EPOCHS_BEFORE_PRUNING
            ),
        )
        study.add_trials([frozen for _, frozen in self._trials])
        if count == 0:
            study.enqueue_trial(self._start)
        return study

    def _train(self, trial: Any, progress: Progress) -> list[RunRecord]:
        """The records of a trial's runs; runs in the ledger are not repeated."""
        search, first, records = self._search, self._search.plan(trial.params), []
        for seed in range(search.seeds):
            plan = replace(first, seed=seed)
            receiver = _Pruning(trial, progress) if seed == 0 and search.target == "accuracy" else progress
            if plan.digest in self._ledger.records:
                for epoch in self._ledger.records[plan.digest].curve:
                    receiver.epoch(epoch)
            else:
                with continued(self._ledger.unfinished(plan.digest), plan, receiver) as checkpoints:
                    run = fit_plan(search.dataset, plan, receiver, checkpoints)
                    self._ledger.add(plan.digest, run.record)
            records.append(self._ledger.records[plan.digest])
        return records

    def _add(self, trial: Trial) -> None:
        """Keep a finished trial, with Optuna's form of it: the settings are checked, the curve is for the pruner."""
        states = self._optuna.trial.TrialState
        if odd := trial.settings.keys() ^ self._space.keys():
            raise InputError(f"settings: {min(odd)} is only in the trial or only in the search")
        try:
            frozen = self._optuna.trial.create_trial(
                state=states.PRUNED if trial.value is None else states.COMPLETE,
                value=trial.value,
                params=trial.settings,
                distributions=self._space,
            )
        except ValueError as error:
            raise InputError(first_line(error)) from None
        record = self._ledger.records.get(self._search.plan(trial.settings).digest)
        best = accumulate((epoch.val_accuracy for epoch in record.curve), max) if record else ()
        frozen.intermediate_values = {
            number: value for number, value in enumerate(best, 1) if number % _EPOCHS_PER_REPORT == 0
        }
        self._trials.append((trial, frozen))

    def _write_best(self) -> None:
        if self.best is not None:
            plan = self.best_plan
            config = plan.config(self._search.dataset.path)
            if record := self._ledger.records.get(plan.digest):
                config["settings"] = record.settings  # with the scaling that was chosen
            write_atomically(self._folder / BEST, tomli_w.dumps(config).encode())

    def _distribution(self, space: Range | Choice) -> Any:
        """Optuna's distribution over the values."""
        kinds = self._optuna.distributions
        if isinstance(space, Choice):
            return kinds.CategoricalDistribution(space.values)
        kind = kinds.IntDistribution if isinstance(space.low, int) else kinds.FloatDistribution
        return kind(space.low, space.high, log=space.log)


class _Pruning:
    """Receives epochs and gives up a trial that is worse than most others at the same epoch."""

    def __init__(self, trial: Any, progress: Progress) -> None:
        self._trial, self._progress, self._best = trial, progress, 0.0

    def epoch(self, epoch: Epoch) -> None:
        """Show an epoch; after every tenth, decide whether to continue."""
        self._progress.epoch(epoch)
        self._best = max(self._best, epoch.val_accuracy)
        if epoch.number % _EPOCHS_PER_REPORT == 0:
            self._trial.report(self._best, epoch.number)
            if self._trial.should_prune():
                raise InputError(f"given up at epoch {epoch.number} with validation accuracy {self._best:.2%}")


def require_optuna() -> Any:
    """Import Optuna, which the extra ``tune`` installs, and limit its messages to warnings."""
    try:
        import optuna
    except ImportError:
        raise InputError("tune: needs Optuna; pip install 'mggcn[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
