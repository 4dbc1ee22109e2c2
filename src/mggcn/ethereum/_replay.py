"""What a queue of alerts would have been worth: month by month over a history, as an analyst would have worked.

At the start the labels of all accounts seen until then are known. Then, at the end of each month, a model is trained on
the accounts as of that date with the labels that are known, the k accounts with the highest probability of a class are
listed, and what the file of labels says of them is revealed: an account of the file gets its label, any other is a
false alarm, in the class Background. The next month continues with that.

Two other queues show what this is worth. *Fixed* is ranked by the model of the start, which is not trained again;
*random* lists accounts at random. Each queue lists an account once, and none that was known at the start.

A label without a date counts as known when its account is listed, and an account that the file does not name may still
belong to the class, so that the precision is a lower bound. A folder keeps each finished month; to continue a replay
that stopped, call it again.
"""

import calendar
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from mggcn._io.files import check_writable, checksummed, read_json, write_atomically
from mggcn._io.temporary import locked_name, temporary_folder
from mggcn.data import BACKGROUND, Dataset, names_in_draws
from mggcn.errors import InputError, prefix_errors, unknown
from mggcn.ethereum._build import build
from mggcn.ethereum._build_files import BuildInputs, expand
from mggcn.ethereum._dates import parse_as_of
from mggcn.ethereum._label_lists import read_labels, write_csv
from mggcn.keys import Key, fold_each
from mggcn.runs import Run, fit

RETRAINED, FIXED, RANDOM = QUEUES = ("retrained", "fixed", "random")
_SETTINGS, _MONTHS, _LABELS = "settings.json", "months", "labels.csv"
_FEWEST = 5  # known accounts of the class: a training and a validation account, and one more


class Alert(msgspec.Struct, frozen=True):
    """An account of a queue.

    Attributes:
        address: of the account.
        label: what the file of labels says of it, None if it does not name it.
        probability: of the class; None in the random queue.
    """

    address: str
    label: str | None
    probability: float | None = None


class Month(msgspec.Struct, frozen=True):
    """What the queues listed at the end of a month.

    Attributes:
        month: such as ``2018-01``.
        accounts: the number of accounts seen until then.
        known: how many of them were known to belong to the class.
        to_find: how many others of them belong to the class by the file of labels, and were not known.
        queues: the alerts of each queue, the first first.
    """

    month: str
    accounts: int
    known: int
    to_find: int
    queues: dict[str, list[Alert]]

    def counts(self, label: str) -> "MonthCounts":
        """The numbers of alerts."""
        listed = {queue: len(alerts) for queue, alerts in self.queues.items()}
        found = {queue: sum(alert.label == label for alert in alerts) for queue, alerts in self.queues.items()}
        return MonthCounts(self.month, self.accounts, self.known, self.to_find, listed, found)


class MonthCounts(msgspec.Struct, frozen=True):
    """The numbers of a month, as in :class:`Month`; how many alerts each queue listed, and found to be of the class."""

    month: str
    accounts: int
    known: int
    to_find: int
    listed: dict[str, int]
    found: dict[str, int]


class ReplaySettings(msgspec.Struct, frozen=True):
    """What decides the months of a replay.

    Attributes:
        label: the class whose alerts are listed.
        k: the length of the queue of a month.
        start: the month at whose end the replay begins, such as ``2017-08``.
        until: the last month.
        method: the name of the method.
        settings: of the method and of training.
        background: the number of accounts in the class Background that are drawn.
        seed: of the draws and of training.
        files: the name and size of each file.
    """

    label: str
    k: int
    start: str
    until: str
    method: str = "mg-gcn"
    settings: dict[str, Any] = {}
    background: int = 2000
    seed: int = 0
    files: dict[str, int] = {}


class Replay(msgspec.Struct, frozen=True):
    """The months of a replay in numbers, and the settings that decide them."""

    settings: ReplaySettings
    months: list[MonthCounts]


def replay(
    inputs: BuildInputs,
    out: Path,
    *,
    labels: Path,
    settings: ReplaySettings,
    memory: str = "4GB",
    device: str = "auto",
    on_month: Callable[[MonthCounts], None] = lambda _: None,
) -> Replay:
    """Replay a history; months that the folder ``out`` has are not repeated.

    Args:
        inputs: the transactions.
        out: the folder of the months.
        labels: a file with the columns address and label, of the whole history.
        settings: of the queues and the model.
        memory: the memory limit of the builds.
        device: of the models.
        on_month: is called with each month, also with those that were there.
    """
    classes, _ = read_labels(labels, any_ids=inputs.any_ids)
    if settings.label not in classes.values():
        raise unknown("class", settings.label, set(classes.values()))
    if settings.k < 1:
        raise InputError(f"k: {settings.k} is less than 1")
    months = list(_months(settings.start, settings.until))
    sizes = {file.name: file.num_bytes() for file in expand([*inputs.transactions, labels])}
    settings = msgspec.structs.replace(settings, files=sizes)
    check_writable(out)
    with locked_name(out):
        _check_settings(out, settings)
        work = _Work(inputs, classes, settings, memory, device)
        done: list[Month] = []
        for month in months:
            path = out / _MONTHS / f"{month}.json"
            if path.exists():
                done.append(read_json(path, Month, is_checksummed=True))
            else:
                with temporary_folder(out / month) as folder:
                    done.append(work.month(month, done, folder))
                _write(out / _SETTINGS, settings)
                _write(path, done[-1])
            on_month(done[-1].counts(settings.label))
    return Replay(settings, [month.counts(settings.label) for month in done])


class _Work:
    """Computes months; the model of the start is trained when it is needed first."""

    def __init__(
        self, inputs: BuildInputs, classes: Mapping[str, str], settings: ReplaySettings, memory: str, device: str
    ) -> None:
        self._inputs, self._classes, self._settings = inputs, classes, settings
        self._memory, self._device = memory, device
        self._fixed: Run | None = None
        self._at_start: dict[str, str] = {}

    def month(self, month: str, before: list[Month], folder: Path) -> Month:
        """The queues at the end of a month; ``folder`` is for files that are not kept."""
        label, k = self._settings.label, self._settings.k
        if self._fixed is None:
            self._fixed, self._at_start = self._start(folder / "start")
        opened = {queue: [alert for one in before for alert in one.queues[queue]] for queue in QUEUES}
        revealed = {alert.address: alert.label or BACKGROUND for alert in opened[RETRAINED]}
        known = self._at_start | revealed
        data = self._built(month, known, folder / "month")
        ids = data.ids_of(np.arange(data.num_current)).tolist()
        models = {RETRAINED: self._trained(data), FIXED: self._fixed}
        queues = {}
        for queue in QUEUES:
            p = self._probabilities(models[queue], data) if queue in models else None
            order = np.argsort(-p, kind="stable") if p is not None else self._random_order(data, month)
            out_of = self._at_start.keys() | {alert.address for alert in opened[queue]}
            nodes = [node for node in order.tolist() if ids[node] not in out_of][:k]
            queues[queue] = [
                Alert(ids[node], self._classes.get(ids[node]), None if p is None else float(p[node])) for node in nodes
            ]
        members = {account for account in ids if self._classes.get(account) == label}
        return Month(month, len(ids), len(members & known.keys()), len(members - known.keys()), queues)

    def _start(self, folder: Path) -> tuple[Run, dict[str, str]]:
        """The model of the start, and the labels that are known then."""
        start, label = self._settings.start, self._settings.label
        data = self._built(start, self._classes, folder)
        ids = data.ids_of(np.arange(data.num_current)).tolist()
        known = {account: self._classes[account] for account in ids if account in self._classes}
        count = sum(one == label for one in known.values())
        if count < _FEWEST:
            raise InputError(
                f"start: {count} accounts of {label} were seen until the end of {start}, and {_FEWEST} are needed: "
                "begin with a later month"
            )
        return self._trained(data), known

    def _built(self, month: str, labels: Mapping[str, str], folder: Path) -> Dataset:
        folder.mkdir()
        write_csv(folder / _LABELS, ("address", "label"), labels.items())
        built = build(
            replace(self._inputs, as_of=parse_as_of(last_day(month).isoformat())),
            folder / "accounts",
            labels=folder / _LABELS,
            background=self._settings.background,
            seed=self._settings.seed,
            memory=self._memory,
        )
        return built.dataset

    def _trained(self, data: Dataset) -> Run:
        with prefix_errors(self._settings.method):
            settings, seed = self._settings.settings, self._settings.seed
            return fit(data, self._settings.method, settings=settings, seed=seed, device=self._device)

    def _probabilities(self, run: Run, data: Dataset) -> NDArray[np.float64]:
        predictions = run.predict(data, np.arange(data.num_current), device=self._device)
        return predictions.probabilities[:, run.classes.index(self._settings.label)]

    def _random_order(self, data: Dataset, month: str) -> NDArray[np.int64]:
        names, key = names_in_draws(data), Key.of(self._settings.seed).fold("random", int(month.replace("-", "")))
        numbers = np.arange(data.num_current) if names is None else names[: data.num_current]
        return np.argsort(fold_each(key.value, numbers), kind="stable")


def last_day(month: str) -> date:
    """The last day of a month such as ``2018-02``."""
    year, number = map(int, month.split("-"))
    return date(year, number, calendar.monthrange(year, number)[1])


def _months(start: str, until: str) -> Iterator[str]:
    """The months after ``start`` up to ``until``."""
    for name, text in (("start", start), ("until", until)):
        if not re.fullmatch("[0-9]{4}-(0[1-9]|1[0-2])", text):
            raise InputError(f"{name}: {text!r} is not a month such as 2018-01")
    if until <= start:
        raise InputError(f"until: {until} is not after {start}")
    year, number = map(int, start.split("-"))
    while (month := f"{year:04}-{number:02}") < until:
        year, number = (year, number + 1) if number < 12 else (year + 1, 1)
        month = f"{year:04}-{number:02}"
        yield month


def _check_settings(out: Path, settings: ReplaySettings) -> None:
    """Raise InputError if the folder holds something else than months with these settings."""
    path = out / _SETTINGS
    if out.exists() and any(out.iterdir()) and not path.exists():
        raise InputError(f"{out}: not the folder of a replay, so nothing is written there")
    there = read_json(path, ReplaySettings, is_checksummed=True) if path.exists() else settings
    for field in ReplaySettings.__struct_fields__:
        one, other = getattr(there, field), getattr(settings, field)
        if one != other and field != "until":
            raise InputError(f"{out}: holds a replay with {field} {one}, not {other}; name another folder")


def _write(path: Path, value: msgspec.Struct) -> None:
    write_atomically(path, checksummed(msgspec.json.encode(value).decode()))
