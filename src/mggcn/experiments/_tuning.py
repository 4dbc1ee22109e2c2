"""Tuning: runs the trials of a search one after the other and stores each in a folder when it is finished."""

import fcntl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomli_w

from mggcn._io.files import write_atomically
from mggcn._io.regular import open_to_append
from mggcn.errors import InputError
from mggcn.experiments._journal import Journal
from mggcn.experiments._ledger import Ledger, cut_torn_line
from mggcn.experiments._search import Choice, Range, Search
from mggcn.keys import Key
from mggcn.runs import Plan, continued, fit_plan
from mggcn.training import Epoch, Progress, RunRecord

JOURNAL, RECORDS, BEST = "trials.journal", "records.jsonl", "best.toml"

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


class Tuning:
    """A search in a folder; while it is open, no other process can search there.

    Args:
        search: the description of the search.
        folder: created if it is missing; the same search in it is continued.
    """

    def __init__(self, search: Search, folder: Path) -> None:
        self._optuna = require_optuna()
        self._search, self._folder, self._start = search, folder, search.start
        self._space = {name: self._distribution(space) for name, space in search.space.items()}

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Lock the folder and read the finished trials."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with open_to_append(self._folder / JOURNAL) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(f"{self._folder}: another search is running there") from None
            cut_torn_line(file)
            self._ledger = Ledger(self._folder / RECORDS)
            self._journal = self._open_journal()
            self._finished, path = list(self._journal.trials), self._folder / JOURNAL
            for number, trial in enumerate(self._finished, 1):
                for name, value in trial.params.items():
                    if not _is_in(self._search.space.get(name), value):
                        raise InputError(f"{path}: trial {number}: {name}={value!r} is none of the search's values")
            self._write_best()
            yield

    @property
    def trials(self) -> list[Trial]:
        """All finished trials in order."""
        trials = []
        for number, frozen in enumerate(self._finished, 1):
            value = frozen.value if "config" in frozen.user_attrs else None
            trials.append(Trial(number, frozen.params, value, frozen.user_attrs.get("reason", "")))
        return trials

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
            trial.set_user_attr("reason", str(error))
            frozen = study.tell(trial, state=self._optuna.trial.TrialState.PRUNED)
        else:
            trial.set_user_attr("config", self._search.plan(trial.params).config(self._search.dataset.path))
            frozen = study.tell(trial, self._search.value(records))
        self._journal.add_trial(frozen)
        self._finished.append(frozen)
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
        study.add_trials(self._finished)
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
            config = self._finished[best.number - 1].user_attrs["config"]
            write_atomically(self._folder / BEST, tomli_w.dumps(config).encode())

    def _open_journal(self) -> Any:
        """The study on disk; an error if it belongs to another search."""
        path, optuna = self._folder / JOURNAL, self._optuna
        try:
            storage = optuna.storages.JournalStorage(Journal(path))
            study = optuna.create_study(storage=storage, study_name="mggcn", direction="maximize", load_if_exists=True)
        except InputError:
            raise
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: not a journal of trials ({error})") from None
        identity, stored = self._search.identity, study.user_attrs.get("search")
        if stored is None:
            study.set_user_attr("search", identity)
        elif stored != identity:
            raise InputError(f"{path}: belongs to another search ({_difference(stored, identity)}); use another folder")
        return study

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
    return value in space.values if isinstance(space, Choice) else space is not None and isinstance(value, int | float)


def _difference(stored: Mapping[str, Any], identity: Mapping[str, Any]) -> str:
    """The first field in which two searches differ."""
    name = next(name for name in identity if stored.get(name) != identity[name])
    old, new = stored.get(name), identity[name]
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return f"{name}: {_difference(old, new)}"
    return f"{name} {old}, now {new}"
