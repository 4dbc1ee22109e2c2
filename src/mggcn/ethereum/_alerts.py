"""Alerts: the accounts without a known label that a run ranks highest for a class, with what an analyst needs to act.

Each account has its role, activity, times and amounts, facts about its labelled counterparties, reasons of the model,
and where all of it is from. Accounts with a known label are in a list of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mggcn.data import BACKGROUND, Dataset, find_nodes
from mggcn.errors import InputError, prefix_errors, unknown, warn_caller
from mggcn.ethereum._account_features import ETHER
from mggcn.ethereum._assembly import ACCOUNTS
from mggcn.ethereum._facts import ROLES, AccountFacts, AccountTables, Role, stored_labels
from mggcn.runs import PART_NAMES, Ensemble, Predictions, check_format, to_frame, write_table
from mggcn.training import probabilities_at_rate

if TYPE_CHECKING:
    import pandas

DEFAULT_CLASS = "Phish"
_NUM_REASONS = 3
_AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False)
class AlertList:
    """Accounts in the order of their probability of a class; those that are listed, and those with a known label.

    Attributes:
        label: the name of the class.
        predictions: of all accounts.
        listed: [n] the rows of ``predictions`` that are listed, the most probable first.
        known: [m] the rows of accounts with a known label, in the same order.
        facts: of each listed account.
        known_facts: of each known account.
        reasons: of each listed account; empty if the method gives none.
        num_unlabelled: the number of accounts without a known label.
        num_eligible: how many of them have the roles, transactions and amounts that were asked for.
        base_rate: the share of all accounts that belong to the class, if it was given.
        share: that of the training accounts.
    """

    label: str
    predictions: Predictions
    listed: NDArray[np.int64]
    known: NDArray[np.int64]
    facts: Sequence[AccountFacts] = field(repr=False)
    known_facts: Sequence[AccountFacts] = field(repr=False)
    reasons: Sequence[Sequence[str]] = field(repr=False)
    num_unlabelled: int
    num_eligible: int
    base_rate: float | None = None
    share: float | None = None

    @property
    def class_index(self) -> int:
        """The class as an index of the classes of the predictions."""
        return self.predictions.classes.index(self.label)

    def save(self, path: str | Path) -> Path:
        """Write the list as ``.csv``, ``.jsonl`` or ``.parquet``, and known accounts to the file that is returned.

        Its name has ``.known`` before the suffix.
        """
        target = Path(path)
        beside = known_file(target)
        for file in (target, beside):
            check_format(file)
        write_table(target, self._chunks(self.listed, self.facts, self.reasons))
        write_table(beside, self._chunks(self.known, self.known_facts, [()] * self.known.size))
        return beside

    def to_pandas(self) -> "pandas.DataFrame":
        """The list as a data frame, with the addresses as its index; needs the extra ``pandas``."""
        return to_frame(self._columns(self.listed, self.facts, self.reasons, 0), "address")

    def _chunks(
        self, rows: NDArray[np.int64], facts: Sequence[AccountFacts], reasons: Sequence[Sequence[str]]
    ) -> Iterator[Mapping[str, NDArray[Any]]]:
        for start in range(0, max(rows.size, 1), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            yield self._columns(rows[part], facts[part], reasons[part], start)

    def _columns(
        self, rows: NDArray[np.int64], facts: Sequence[AccountFacts], reasons: Sequence[Sequence[str]], start: int
    ) -> dict[str, NDArray[Any]]:
        predictions = self.predictions
        p = predictions.probabilities[rows, self.class_index]
        columns: dict[str, NDArray[Any]] = {
            "address": np.array([one.address for one in facts], object),
            "position": np.arange(start + 1, start + 1 + rows.size),
            "probability": p,
        }
        if self.base_rate is not None and self.share is not None:
            columns["probability_at_base_rate"] = probabilities_at_rate(p, self.share, self.base_rate)
        if predictions.thresholds is not None:
            columns["is_alert"] = p >= predictions.thresholds.values[self.class_index]
        columns |= {
            "label": np.array([one.label for one in facts], object),
            "part": np.array(PART_NAMES)[predictions.part_index[rows]],
            "role": np.array([one.role for one in facts], object),
            "received_transactions": _numbers(facts, "in_tx"),
            "sent_transactions": _numbers(facts, "out_tx"),
            "senders": _numbers(facts, "senders"),
            "receivers": _numbers(facts, "receivers"),
            "received_ether": np.array([one.in_wei / ETHER for one in facts], np.float64),
            "sent_ether": np.array([one.out_wei / ETHER for one in facts], np.float64),
            "first_time": np.array([_time(one, one.first_time) for one in facts], object),
            "last_time": np.array([_time(one, one.last_time) for one in facts], object),
            "facts": np.array(["; ".join(one.sentences(self.label)) for one in facts], object),
        }
        texts = np.full((_NUM_REASONS, rows.size), None, object)
        for column, of_account in enumerate(reasons):
            texts[: len(of_account), column] = of_account
        columns |= {f"reason_{number}": column for number, column in enumerate(texts, 1)}
        return columns | {name: np.full(rows.size, text, object) for name, text in predictions.origin.items()}


def alerts(
    run: Ensemble,
    dataset: Dataset | None = None,
    *,
    label: str | None = None,
    count: int = 1000,
    min_transactions: int = 0,
    min_received: Fraction | float | int = 0,
    roles: Sequence[Role] = ROLES,
    reasons: bool = True,
    at_precision: float | None = None,
    base_rate: float | None = None,
    draws: int | None = None,
    device: str = "auto",
    scratch: Path | None = None,
) -> AlertList:
    """Rank the accounts without a known label by the probability of a class.

    Args:
        run: a run or an ensemble.
        dataset: as :func:`build` wrote it; that of the run when None. Labels of the training data count as known in it.
        label: the class; when None ``Phish`` if there is one, else the only class beside Background.
        count: the number of accounts to list.
        min_transactions: list only accounts with as many transactions, sent and received ones together.
        min_received: list only accounts that received as much ether.
        roles: list only accounts with these roles.
        reasons: give reasons of the model, see :meth:`mggcn.runs.Ensemble.reasons`; methods without gradients warn.
        at_precision: mark as alerts the accounts that reach the threshold with this precision on validation accounts.
        base_rate: the share of all accounts that belong to the class. Thresholds and probabilities are then those where
            the class has this share, by the usual correction of the prior.
        draws: the number of draws of the picks to average over.
        device: of the model.
        scratch: a folder for a temporary file that holds the probabilities; they are in memory if None.
    """
    name = choose_class(run.classes, label)
    data = run.training_data if dataset is None else dataset
    if data.path is None or data.id_name != "address":
        raise InputError(f"{data.name}: alerts need a dataset folder that mggcn ethereum build has written")
    if (unit := data.measures["in_eth"].unit if "in_eth" in data.measures else "ether") != "ether":
        raise InputError(f"{data.name}: values are in {unit}, but alerts state amounts in ether")
    if base_rate is not None and not 0 < base_rate < 1:
        raise InputError(f"base_rate: {base_rate:g} is not a share above 0 and below 1")
    share = None if base_rate is None else training_share(run, name)
    labels, known_nodes = known_labels(run, data)
    tables = AccountTables(data.path, labels)
    is_eligible = tables.eligible(min_transactions, Fraction(min_received), roles)
    if is_eligible.size != data.num_current:
        raise InputError(f"{tables.accounts}: {is_eligible.size:,} accounts, but {data.name} has {data.num_current:,}")
    rates = {name: base_rate} if base_rate is not None and at_precision is not None else None
    predictions = run.predict(
        data, at_precision=at_precision, base_rates=rates, draws=draws, device=device, scratch=scratch
    )
    order = np.argsort(-predictions.probabilities[:, run.classes.index(name)], kind="stable")
    is_known = np.zeros(data.num_current, bool)
    is_known[known_nodes] = True
    eligible = order[(is_eligible & ~is_known)[order]]
    listed, known = eligible[:count], order[is_known[order]]
    said: list[list[str]] = [[] for _ in range(listed.size)]
    if reasons and listed.size and data.feature_names:
        try:
            said = run.reasons(data, listed, label=name, draws=draws, device=device)
        except InputError as error:
            warn_caller(str(error))
    of_listed, of_known = (tables.facts(data.ids_of(rows).tolist()) for rows in (listed, known))
    num_unlabelled = data.num_current - known.size
    return AlertList(
        name, predictions, listed, known, of_listed, of_known, said, num_unlabelled, eligible.size, base_rate, share
    )


def choose_class(classes: Sequence[str], label: str | None) -> str:
    """The class that is named; if none is, ``Phish`` if there is one, else the only class beside Background."""
    if label is not None:
        if label not in classes:
            raise unknown("class", label, classes)
        return label
    others = [name for name in classes if name != BACKGROUND]
    if DEFAULT_CLASS in others or len(others) == 1:
        return DEFAULT_CLASS if DEFAULT_CLASS in others else others[0]
    raise InputError(f"label: name the class to rank accounts for; the run has {', '.join(others)}")


def known_labels(run: Ensemble, data: Dataset) -> tuple[dict[str, str], NDArray[np.int64]]:
    """The known labels of the data and of the training data, by address; the accounts of the data that have one.

    Drawn accounts of the class Background have none; those that are known to be in no other class have the label
    Background.
    """
    try:
        trained = run.training_data.path
    except (InputError, OSError):
        trained = None
    found: dict[str, str] = {}
    for folder in dict.fromkeys((trained, data.path)):
        if folder is not None and (folder / ACCOUNTS).is_file():
            found |= stored_labels(folder)
    return found, find_nodes(data, [*found])[0]


def training_share(run: Ensemble, label: str) -> float:
    """The share of a class among the training nodes; InputError without the training data."""
    with prefix_errors("base_rate: needs the training data"):
        data = run.training_data
    y = data.y[data.require_split().train]
    return float(np.mean(y == data.classes.index(label)))


def known_file(path: Path) -> Path:
    """The file of the known accounts beside that of the list: ``alerts.known.parquet``."""
    return path.with_name(f"{path.stem}.known{path.suffix}")


def _time(facts: AccountFacts, seconds: int) -> str | None:
    """A time in UTC; None for an account without a transaction."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}" if facts.role != "none" else None


def _numbers(facts: Sequence[AccountFacts], name: str) -> NDArray[np.int64]:
    return np.array([getattr(one, name) for one in facts], np.int64)
