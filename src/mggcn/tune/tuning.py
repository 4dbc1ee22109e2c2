"""Carrying a search out: trials one after the other, kept in a folder as they finish."""

import fcntl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from mggcn.errors import InputError
from mggcn.keys import Key
from mggcn.records import spec
from mggcn.records.ledger import Ledger, cut_torn_line
from mggcn.records.record import Epoch, RunRecord
from mggcn.records.spec import RunSpec
from mggcn.run import config_of, fit
from mggcn.storage import write_atomically
from mggcn.train import Progress
from mggcn.tune.search import SPACE, Choice, Range, Search

JOURNAL, RECORDS, BEST = "trials.journal", "records.jsonl", "best.toml"

_REPORT_EVERY = 10
_NEVER_PRUNED_BEFORE = 20  # epochs
_KEPT_SHARE = 75.0  # per cent of the trials at the same epoch
_TRIALS_BEFORE_PRUNING = 5


@dataclass(frozen=True)
class Trial:
    """A finished trial.

    Attributes:
        number: from 1.
        settings: those that are searched.
        value: the mean validation figure over the seeds; None where it was given up.
        reason: why it was.
    """

    number: int
    settings: Mapping[str, object]
    value: float | None
    reason: str = ""


class Tuning:
    """A search in a folder; while it is open no other process may search there.

    Args:
        search: what is searched.
        folder: made where it is missing; a search of the same in it goes on.
    """

    def __init__(self, search: Search, folder: Path) -> None:
        self._optuna = require_optuna()
        self._search, self._folder, self._start = search, folder, search.start
        self._space = {name: self._distribution(SPACE[name], value) for name, value in self._start.items()}

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Hold the folder and read what is in it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / JOURNAL).open("ab+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(f"{self._folder}: another search is going on there") from None
            cut_torn_line(file)
            self._ledger = Ledger(self._folder / RECORDS)
            self._kept = self._journal()
            self._finished = list(self._kept.trials)
            self._write_best()
            yield

    @property
    def trials(self) -> list[Trial]:
        """All finished trials in their order."""
        return [_trial(number, frozen) for number, frozen in enumerate(self._finished, 1)]

    @property
    def best(self) -> Trial | None:
        """The best trial, the first of equals."""
        return max((one for one in self.trials if one.value is not None), key=_by_value, default=None)

    def run(self, trials: int, watch: Callable[[Trial], Progress], *, timeout: float | None = None) -> Iterator[Trial]:
        """Finish trials until there are so many, those found in the folder included; give each new one.

        Args:
            trials: in all.
            watch: called when a trial starts, with its number and settings; what it returns hears of its epochs.
            timeout: start no trial after so many seconds.
        """
        started = time.monotonic()
        while len(self._finished) < trials and (timeout is None or time.monotonic() - started < timeout):
            yield self._next(watch)

    def _next(self, watch: Callable[[Trial], Progress]) -> Trial:
        """One trial: kept only when it is finished, so that a killed one leaves no trace but its records."""
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
            trial.set_user_attr("config", config_of(records[0]))
            frozen = study.tell(trial, self._search.value(records))
        self._kept.add_trial(frozen)
        self._finished.append(frozen)
        self._write_best()
        return self.trials[-1]

    def _study(self) -> Any:
        """A study in memory of the finished trials, about to draw the next one, or to take the start as the first."""
        count, optuna = len(self._finished), self._optuna
        study = optuna.create_study(
            direction="maximize",
            sampler=optuna.samplers.TPESampler(seed=Key.of(0).fold("tune", count).value >> 32),
            pruner=optuna.pruners.PercentilePruner(
                _KEPT_SHARE, n_startup_trials=_TRIALS_BEFORE_PRUNING, n_warmup_steps=_NEVER_PRUNED_BEFORE
            ),
        )
        study.add_trials(self._finished)
        if count == 0:
            study.enqueue_trial(self._start)
        return study

    def _train(self, trial: Any, progress: Progress) -> list[RunRecord]:
        """The records of a trial's runs; those in the ledger are not run again."""
        plan, found = self._search.plan(trial.params), []
        identity = spec.identity(self._search.dataset)
        for seed in range(self._search.seeds):
            hears = _Pruning(trial, progress) if seed == 0 and self._search.target == "accuracy" else progress
            wanted = RunSpec(
                identity, self._search.method, seed, self._search.device, plan.settings, plan.method.version
            )
            if wanted.digest in self._ledger.records:
                for epoch in self._ledger.records[wanted.digest].curve:
                    hears.epoch(epoch)
            else:
                run = fit(
                    self._search.dataset,
                    self._search.method,
                    seed=seed,
                    device=self._search.device,
                    settings=plan.settings,
                    progress=hears,
                )
                self._ledger.add(wanted.digest, run.record)
            found.append(self._ledger.records[wanted.digest])
        return found

    def _write_best(self) -> None:
        best = self.best
        if best is not None:
            config = self._finished[best.number - 1].user_attrs["config"]
            write_atomically(self._folder / BEST, tomli_w.dumps(config).encode())

    def _journal(self) -> Any:
        """The study on disk, checked to be a search of the same."""
        path, optuna = self._folder / JOURNAL, self._optuna
        try:
            backend = optuna.storages.journal.JournalFileBackend(str(path), lock_obj=_Held())
            storage = optuna.storages.JournalStorage(backend)
            study = optuna.create_study(storage=storage, study_name="mggcn", direction="maximize", load_if_exists=True)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: not a journal of trials ({error})") from None
        wanted, found = self._search.identity, study.user_attrs.get("search")
        if found is None:
            study.set_user_attr("search", wanted)
        elif found != wanted:
            raise InputError(
                f"{path}: another search was begun here ({_difference(found, wanted)}); name another folder"
            )
        return study

    def _distribution(self, where: Range | Choice, start: Any) -> Any:
        """As Optuna has it, widened so that it holds the start."""
        kinds = self._optuna.distributions
        if isinstance(where, Choice):
            values = where.values if start in where.values else (start, *where.values)
            return kinds.CategoricalDistribution(values)
        kind = kinds.IntDistribution if isinstance(where.low, int) else kinds.FloatDistribution
        return kind(min(where.low, start), max(where.high, start), log=where.log)


class _Held:
    """For Optuna, a lock that is always free: the folder is held by another that a killed process lets go."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        return None


class _Pruning:
    """Hears of epochs and gives a trial up that is behind most others at the same epoch."""

    def __init__(self, trial: Any, shown: Progress) -> None:
        self._trial, self._shown, self._best = trial, shown, 0.0

    def epoch(self, epoch: Epoch) -> None:
        """Show an epoch; now and then, see whether to go on."""
        self._shown.epoch(epoch)
        self._best = max(self._best, epoch.val_accuracy)
        if epoch.number % _REPORT_EVERY == 0:
            self._trial.report(self._best, epoch.number)
            if self._trial.should_prune():
                raise InputError(f"given up at epoch {epoch.number} with validation accuracy {self._best:.2%}")


def require_optuna() -> Any:
    """Optuna, which the extra ``tune`` brings; its messages are kept to warnings."""
    try:
        import optuna
    except ImportError:
        raise InputError("tune: needs Optuna; pip install 'mggcn[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _difference(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """The first thing in which two searches differ."""
    name = next(name for name in wanted if found.get(name) != wanted[name])
    one, other = found.get(name), wanted[name]
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return f"{name}: {_difference(one, other)}"
    return f"{name} {one}, now {other}"


def _by_value(trial: Trial) -> float:
    return trial.value or 0.0


def _trial(number: int, frozen: Any) -> Trial:
    value = frozen.value if "config" in frozen.user_attrs else None
    return Trial(number, frozen.params, value, frozen.user_attrs.get("reason", ""))
