"""The case file of an account: what its transactions say, whom it dealt with, and what a run thinks of them.

Every figure is computed from the transactions, in exact wei. Labels are those of a list or of a data set; scores and
reasons are those of a run, if one is named.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from mggcn.data import BACKGROUND, UNLABELLED, Dataset, find_nodes
from mggcn.errors import InputError
from mggcn.ethereum._build_files import BuildInputs
from mggcn.ethereum._chain import (
    Activity,
    Chain,
    Counterparty,
    Others,
    Period,
    Side,
    Sum,
    Transaction,
    Unit,
    open_chain,
)
from mggcn.ethereum._label_lists import is_address, read_labels
from mggcn.ethereum._words import percent

if TYPE_CHECKING:
    from mggcn.runs import Run

Role = Literal["payer", "payee", "both", "none"]
LabelsOf = Callable[[Sequence[str]], Mapping[str, str]]
"""Returns the known labels of accounts, for those that have one."""

_MOST_COUNTERPARTIES, _MOST_NEIGHBOURS = 50, 8
_BRANCHES, _LEAVES = 6, 3
"""How many accounts the picture names on each side, and beyond each of them."""


@dataclass(frozen=True)
class Score:
    """What a run says of an account."""

    label: str  # the most probable class
    probability: float
    probabilities: Mapping[str, float]
    reasons: tuple[str, ...]
    part: str  # of the run's split: train, val, test, or new


@dataclass(frozen=True)
class Subject:
    """An account with its label, what its transactions add up to, and its score."""

    address: str
    label: str | None
    role: Role
    activity: Activity
    score: Score | None


@dataclass(frozen=True)
class Known:
    """A counterparty with its label and score."""

    address: str
    label: str | None
    received: Sum  # by the account of the case file
    sent: Sum
    score: Score | None


@dataclass(frozen=True)
class Labelled:
    """All counterparties of one label together; ``accounts`` of the sums say how many there are."""

    label: str | None
    received: Sum
    sent: Sum


@dataclass(frozen=True)
class Leaf:
    """An account at the second hop, and what moved between it and the branch."""

    address: str
    label: str | None
    amount: Sum


@dataclass(frozen=True)
class Branch:
    """A counterparty, what moved between it and the account, and where that came from or can have gone.

    Beyond a payer are the payments that it received before it last paid the account; beyond a payee are those that it
    made since the account first paid it.
    """

    address: str
    label: str | None
    amount: Sum
    beyond: tuple[Leaf, ...]
    others: Others


@dataclass(frozen=True)
class Flow:
    """One side of the flow of funds over two hops; ``others`` are the counterparties that have no branch."""

    branches: tuple[Branch, ...]
    others: Others


@dataclass(frozen=True)
class Neighbour:
    """A counterparty that matters, with the reasons why."""

    why: tuple[str, ...]
    account: Subject


@dataclass(frozen=True)
class Origin:
    """Where the figures are from."""

    files: tuple[str, ...]
    formats: tuple[str, ...]
    rows: int
    kept: int
    dropped: Mapping[str, int]  # rows by rule
    notes: tuple[str, ...]
    simulated: bool
    labels: str | None
    run: str | None


@dataclass(frozen=True)
class Case:
    """All facts of a case file; the largest counterparties are first."""

    account: Subject
    unit: Unit  # of the timeline
    timeline: tuple[Period, ...]
    num_counterparties: int
    counterparties: tuple[Known, ...]
    by_label: tuple[Labelled, ...]
    labels: Mapping[str, str]  # of all accounts in the case file that have one
    received: Flow
    sent: Flow
    neighbours: tuple[Neighbour, ...]
    transactions: tuple[Transaction, ...]
    origin: Origin


@dataclass(frozen=True)
class Scores:
    """Scores of a run for the accounts of a data set; of the one it was trained on by default."""

    run: "Run"
    dataset: Dataset

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.run.path.name if self.run.path else f"{self.run.record.method}-seed{self.run.record.seed}"

    def of(self, addresses: Iterable[str]) -> dict[str, Score]:
        """The scores of those accounts that are in the data set."""
        present, nodes = _present(self.dataset, addresses)
        if not present:
            return {}
        scored = self.run.predict(self.dataset, nodes, reasons=len(present) if self.dataset.feature_names else 0)
        found = {}
        for row, address in enumerate(present):
            p = scored.probabilities[row]
            label = int(scored.class_index[row])
            by_class = {name: float(value) for name, value in zip(scored.classes, p, strict=True)}
            reasons = tuple((scored.reasons or {}).get(row, ()))
            found[address] = Score(scored.classes[label], float(p[label]), by_class, reasons, str(scored.parts[row]))
        return found

    def labels(self, addresses: Sequence[str]) -> dict[str, str]:
        """The known labels of accounts; those of the class Background have none."""
        present, nodes = _present(self.dataset, addresses)
        classes = self.dataset.classes
        labels = {
            address: classes[label]
            for address, label in zip(present, self.dataset.y[nodes].tolist(), strict=True)
            if label != UNLABELLED
        }
        return {address: label for address, label in labels.items() if label != BACKGROUND}


def case(
    address: str,
    inputs: BuildInputs,
    *,
    labels: Path | None = None,
    run: "Run | None" = None,
    dataset: Dataset | None = None,
    memory: str = "4GB",
    folder: Path = Path(),
) -> Case:
    """Compute the case file of an account; InputError if the transactions do not have it.

    Args:
        address: with or without 0x, in any case.
        inputs: the transactions, as for a build.
        labels: a file with the columns address and label; without it labels are those of the data set.
        run: gives the scores and their reasons.
        dataset: in which the run finds the accounts; by default the one that it was trained on.
        memory: the memory limit of DuckDB.
        folder: for temporary files.
    """
    wanted = account_name(address, any_ids=inputs.any_ids)
    scores = Scores(run, dataset if dataset is not None else run.training_data) if run is not None else None
    known = read_labels(labels, any_ids=inputs.any_ids)[0] if labels is not None else {}

    def labels_of(names: Sequence[str]) -> dict[str, str]:
        if labels is None and scores is not None:
            return scores.labels(names)
        return {name: known[name] for name in names if name in known}

    with open_chain(inputs, folder / "case", memory=memory) as chain:
        found = case_of(chain, wanted, labels_of, scores)
    source = labels.name if labels is not None else scores.dataset.name if scores is not None else None
    return replace(found, origin=replace(found.origin, labels=source))


def account_name(text: str, *, any_ids: bool = False) -> str:
    """The account that a text names: an address in any case, with or without 0x; with ``any_ids`` the text itself."""
    if any_ids:
        return text
    lowered = text.strip().lower()
    name = lowered if lowered.startswith("0x") else f"0x{lowered}"
    if not is_address(name):
        raise InputError(f"{text!r} is not an address (0x and 40 hexadecimal digits)")
    return name


def case_of(chain: Chain, address: str, labels_of: LabelsOf, scores: Scores | None = None) -> Case:
    """Compute the case file of an account, as it is named in the transactions of a chain."""
    if address not in chain:
        raise InputError(f"{address}: no transaction of this account in {', '.join(chain.names)}")
    unit, timeline = chain.timeline(address)
    counterparties = chain.counterparties(address)
    received, sent = _flow(chain, counterparties, "received"), _flow(chain, counterparties, "sent")
    activity = chain.activities([address])[address]
    beyond = [leaf.address for flow in (received, sent) for one in flow.branches for leaf in one.beyond]
    labels = labels_of([address, *dict.fromkeys([*(one.address for one in counterparties), *beyond])])
    shown = counterparties[:_MOST_COUNTERPARTIES]
    scored = scores.of([address, *(one.address for one in shown)]) if scores else {}
    suspected = scored[address].label if address in scored else None
    reasons = _neighbours(activity, counterparties, labels, scored, suspected)
    if scores and (others := [name for name in reasons if name not in scored]):
        scored |= scores.of(others)
    activities = chain.activities(reasons) | {address: activity}

    def subject(name: str) -> Subject:
        one = activities[name]
        return Subject(name, labels.get(name), role(one), one, scored.get(name))

    tally = chain.tally
    dropped = {rule: count for rule, count in tally.dropped.items() if count}
    names, run = tuple(chain.names), scores.name if scores else None
    origin = Origin(names, tally.formats, tally.rows, tally.kept, dropped, tally.notes, chain.simulated, None, run)
    return Case(
        account=subject(address),
        unit=unit,
        timeline=tuple(timeline),
        num_counterparties=len(counterparties),
        counterparties=tuple(
            Known(one.address, labels.get(one.address), one.received, one.sent, scored.get(one.address))
            for one in shown
        ),
        by_label=_by_label(counterparties, labels),
        labels=dict(sorted(labels.items())),
        received=_named(received, labels),
        sent=_named(sent, labels),
        neighbours=tuple(Neighbour(why, subject(name)) for name, why in reasons.items()),
        transactions=tuple(chain.transactions(address)),
        origin=origin,
    )


def role(activity: Activity) -> Role:
    """What an account does: it pays, it is paid, or both."""
    pays, is_paid = activity.sent.transactions > 0, activity.received.transactions > 0
    return "both" if pays and is_paid else "payer" if pays else "payee" if is_paid else "none"


def _flow(chain: Chain, counterparties: Sequence[Counterparty], side: Side) -> Flow:
    """The largest payers or payees with what is beyond them, still without labels."""
    sums = [(one.address, one.received if side == "received" else one.sent) for one in counterparties]
    sums = sorted(((name, total) for name, total in sums if total.wei), key=lambda pair: (-pair[1].wei, pair[0]))
    first, rest = sums[:_BRANCHES], [total for _, total in sums[_BRANCHES:]]
    times = {name: _seconds(total.last if side == "received" else total.first) for name, total in first}
    hops = chain.hops(side, times, _LEAVES)
    return Flow(
        tuple(
            Branch(
                name,
                None,
                total,
                tuple(Leaf(other, None, amount) for other, amount in hops[name].largest),
                hops[name].others,
            )
            for name, total in first
        ),
        Others(len(rest), sum(one.transactions for one in rest), sum(one.wei for one in rest)),
    )


def _named(flow: Flow, labels: Mapping[str, str]) -> Flow:
    """A flow with labels."""
    return replace(
        flow,
        branches=tuple(
            replace(
                branch,
                label=labels.get(branch.address),
                beyond=tuple(replace(leaf, label=labels.get(leaf.address)) for leaf in branch.beyond),
            )
            for branch in flow.branches
        ),
    )


def _by_label(counterparties: Sequence[Counterparty], labels: Mapping[str, str]) -> tuple[Labelled, ...]:
    """The sums of the counterparties of each label, those without one last."""
    groups: dict[str | None, list[Counterparty]] = {}
    for one in counterparties:
        groups.setdefault(labels.get(one.address), []).append(one)
    return tuple(
        Labelled(label, _total(one.received for one in groups[label]), _total(one.sent for one in groups[label]))
        for label in sorted(groups, key=lambda label: (label is None, label or ""))
    )


def _total(sums: Iterable[Sum]) -> Sum:
    kept = [one for one in sums if one.transactions]
    return Sum(
        sum(one.transactions for one in kept),
        sum(one.wei for one in kept),
        sum(one.accounts for one in kept),
        min((one.first for one in kept if one.first), default=None),
        max((one.last for one in kept if one.last), default=None),
    )


def _neighbours(
    activity: Activity,
    counterparties: Sequence[Counterparty],
    labels: Mapping[str, str],
    scored: Mapping[str, Score],
    suspected: str | None,
) -> dict[str, tuple[str, ...]]:
    """The counterparties that matter, each with the reasons why, the most important first.

    They are the first funder, the two largest payers and payees, the two largest of those with a label, and the two of
    the largest counterparties whose probability of the account's own predicted class is highest.
    """
    reasons: dict[str, list[str]] = {}
    if activity.funding is not None:
        reasons.setdefault(activity.funding.sender, []).append("paid it first")
    for side, verb, whole in (
        ("received", "paid {} of what it received", activity.received.wei),
        ("sent", "got {} of what it sent", activity.sent.wei),
    ):
        amounts = {one.address: getattr(one, side).wei for one in counterparties}
        for name in sorted(amounts, key=lambda name: (-amounts[name], name))[:2]:
            if amounts[name]:
                reasons.setdefault(name, []).append(verb.format(percent(amounts[name], whole)))
    for name in [one.address for one in counterparties if one.address in labels][:2]:
        reasons.setdefault(name, []).append(f"labelled {labels[name]}")
    if suspected is not None:
        likely = {one.address: scored[one.address] for one in counterparties if one.address in scored}
        for name in sorted(likely, key=lambda name: (-likely[name].probabilities[suspected], name))[:2]:
            if likely[name].label == suspected:
                reasons.setdefault(name, []).append(f"classified as {suspected}, too")
    return {name: tuple(why) for name, why in list(reasons.items())[:_MOST_NEIGHBOURS]}


def _present(dataset: Dataset, addresses: Iterable[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Those accounts that a data set has, and their numbers."""
    wanted = list(dict.fromkeys(addresses))
    nodes, missing = find_nodes(dataset, wanted)
    absent = set(missing)
    return [name for name in wanted if name not in absent], nodes


def _seconds(time: str | None) -> int:
    return int(datetime.fromisoformat(time or "1970-01-01T00:00:00Z").timestamp())
