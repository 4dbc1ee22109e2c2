"""Tuning: runs the trials of a search one after the other and stores each in a folder when it is finished."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import tomli_w

from mggcn._io.files import typed, write_atomically
from mggcn._io.log import Log
from mggcn.errors import InputError, prefix_errors
from mggcn.experiments._ledger import Ledger
from mggcn.experiments._search import Choice, Range, Search
from mggcn.keys import Key
from mggcn.runs import Plan, continued, fit_plan
from mggcn.training import Epoch, Finite, Progress, RunRecord

TRIALS, RECORDS, BEST = "trials.jsonl", "records.jsonl", "best.toml"

_EPOCHS_PER_REPORT = 10
_EPOCHS_BEFORE_PRUNING, _TRIALS_BEFORE_PRUNING = 20, 5
_KEPT_PERCENT = 75.0  # of the trials at the same epoch


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
    settings: Mapping[str, object]
    value: float | None
    reason: str = ""


@dataclass(frozen=True)
class _Line:
    """A finished trial on disk.

    Attributes:
        settings: the values of the searched settings.
        value: as in :class:`Trial`.
        reason: as in :class:`Trial`.
        config: the configuration that trains its first run again; None if it was given up.
        reported: the epochs at which it was compared with the trials before, with its best value until then.
    """

    settings: dict[str, Any]
    value: Finite | None
    reason: str = ""
    config: dict[str, Any] | None = None
    reported: list[tuple[int, Finite]] = field(default_factory=list)


class Tuning:
    """A search in a folder; while it is open, no other process can search there.

    Args:
        search: the description of the search.
        folder: created if it is missing; the same search in it is continued.
    """

    def __init__(self, search: Search, folder: Path) -> None:
        self._optuna = require_optuna()
        self._search, self._folder, self._start = search, folder, search.start
        self._values = search.space
        self._space = {name: self._distribution(values) for name, values in self._values.items()}
        self._log = Log(folder / TRIALS, "a line of trials", dict)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Lock the folder and read the finished trials."""
        with self._log.held() as lines:
            if lines:
                self._check_search(lines[0])
            else:
                self._log.append({"search": self._search.identity})
            self._finished = [self._parse(number, line) for number, line in enumerate(lines[1:], 1)]
            self._ledger = Ledger(self._folder / RECORDS)
            self._write_best()
            yield

    @property
    def trials(self) -> list[Trial]:
        """All finished trials in order."""
        return [Trial(number, line.settings, line.value, line.reason) for number, line in enumerate(self._finished, 1)]

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
        while len(self._finished) < trials and (timeout is None or time.monotonic() - started < timeout):
            yield self._next(watch)

    def _next(self, watch: Callable[[Trial], Progress]) -> Trial:
        """Run one trial; it is stored only when it is finished, so that a killed one leaves only its records."""
        study, number = self._study(), len(self._finished) + 1
        trial = study.ask(self._space)
        progress = watch(Trial(number, trial.params, None))
        try:
            records = self._train(trial, progress)
        except InputError as error:
            if not self._finished:
                raise
            value, reason, config = None, str(error), None
        else:
            value, reason = self._search.value(records), ""
            config = self._search.plan(trial.params).config(self._search.dataset.path)
            config["settings"] = records[0].settings  # with the scaling that was chosen
        reported = list(study.trials[-1].intermediate_values.items())
        line = _Line(trial.params, value, reason, config, reported)
        self._log.append(asdict(line))
        self._finished.append(line)
        self._write_best()
        return self.trials[-1]

    def _study(self) -> Any:
        """A study in memory with the finished trials, ready for the next; the first trial has the start's values."""
        count, optuna = len(self._finished), self._optuna
        study = optuna.create_study(
            direction="maximize",
            sampler=optuna.samplers.TPESampler(seed=Key.of(0).fold("tune", count).value >> 32),
            pruner=optuna.pruners.PercentilePruner(
                _KEPT_PERCENT, n_startup_trials=_TRIALS_BEFORE_PRUNING, n_warmup_steps=_EPOCHS_BEFORE_PRUNING
            ),
        )
        study.add_trials([self._frozen(line) for line in self._finished])
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

    def _write_best(self) -> None:
        best = self.best
        if best is not None:
            config = self._finished[best.number - 1].config
            write_atomically(self._folder / BEST, tomli_w.dumps(config or {}).encode())

    def _check_search(self, line: Mapping[str, Any]) -> None:
        stored, identity = line.get("search"), self._search.identity
        if not isinstance(stored, Mapping):
            raise InputError(f"{self._log.path}: line 1: not the description of a search")
        if stored != identity:
            difference = _difference(stored, identity)
            raise InputError(f"{self._log.path}: belongs to another search ({difference}); use another folder")

    def _parse(self, number: int, line: Mapping[str, Any]) -> _Line:
        """A finished trial from its line, which may name only values that this search tries."""
        with prefix_errors(f"{self._log.path}: trial {number}"):
            finished = typed(_Line, line)
            for name, value in finished.settings.items():
                if not _is_in(self._values.get(name), value):
                    raise InputError(f"{name}={value!r} is none of the search's values")
            if missing := self._values.keys() - finished.settings.keys():
                raise InputError(f"{min(missing)} is missing")
            if (finished.value is None) != (finished.config is None):
                raise InputError("has only one of value and config")
        return finished

    def _frozen(self, line: _Line) -> Any:
        """A finished trial as Optuna has it."""
        states = self._optuna.trial.TrialState
        return self._optuna.trial.create_trial(
            state=states.PRUNED if line.value is None else states.COMPLETE,
            value=line.value,
            params=line.settings,
            distributions=self._space,
            intermediate_values=dict(line.reported),
        )

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


def _is_in(space: Range | Choice | None, value: object) -> bool:
    """Whether a search can have chosen a value, which a file says; a setting may name code to import."""
    if isinstance(space, Choice):
        return any(type(value) is type(known) and value == known for known in space.values)
    if space is None or isinstance(value, bool) or not isinstance(value, type(space.low)):
        return False
    return space.low <= value <= space.high


def _difference(stored: Mapping[str, Any], identity: Mapping[str, Any]) -> str:
    """The first field in which two searches differ."""
    name = next(name for name in {**identity, **stored} if stored.get(name) != identity.get(name))
    old, new = stored.get(name), identity.get(name)
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return f"{name}: {_difference(old, new)}"
    return f"{name} {old}, now {new}"
