"""Facts about accounts, computed exactly from the tables of a data set: roles, sums, and whom they dealt with.

A fact holds whatever a model says. Sums are whole wei, and counterparties are counted by their known labels:
"sent to 1 account, a known Phish", "received from 14 accounts, 3 of them known Phish victims". No sentence counts
accounts that are known to be in no class. Transactions without ether count, as they do in the features.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mggcn._io.database import Database, connect, one_line_errors
from mggcn.data import BACKGROUND
from mggcn.errors import InputError
from mggcn.ethereum._account_features import ETHER, PARTIAL
from mggcn.ethereum._assembly import ACCOUNTS, EDGES

Role = Literal["payer", "payee", "both", "none"]
Way = Literal["sent", "received"]

ROLES: tuple[Role, ...] = ("payer", "payee", "both", "none")
"""Whether an account only sent, only received, did both, or had no transaction with another account that succeeded."""

_MEMORY = 2000  # megabytes; the tables are read from the disk
_MOST = 0.5  # of what an account sent or received: a share from which on a single counterparty is named
_FRAUDS = ("phish", "phishing", "hack", "ponzi", "scam", "fraud")
"""Classes, in lower case, whose payers are victims."""


@dataclass(frozen=True)
class Dealings:
    """What an account sent to, or received from, all counterparties with one label.

    Attributes:
        way: ``sent`` or ``received``, as the account sees it.
        label: the known label of the counterparties; None for all without one.
        accounts: the number of counterparties.
        transactions: their number.
        wei: the sum of the transactions.
        first: the time of the first transaction, in seconds since 1970.
        last: that of the last one.
        largest: the counterparty with the largest sum; the first by address among equal ones.
        largest_wei: its sum.
    """

    way: Way
    label: str | None
    accounts: int
    transactions: int
    wei: int
    first: int
    last: int
    largest: str
    largest_wei: int


@dataclass(frozen=True)
class AccountFacts:
    """What the transactions say about one account.

    Attributes:
        address: of the account.
        label: its known label; None without one.
        in_tx: the number of transactions it received.
        out_tx: the number of those it sent to others.
        senders: the number of accounts it received from.
        receivers: the number of accounts it sent to.
        in_wei: the sum of what it received.
        out_wei: the sum of what it sent.
        balance_wei: what is left, fees paid; below 0 if the transactions are not complete.
        first_time: the time of the first transaction, in seconds since 1970.
        last_time: that of the last one.
        dealings: by way and label, the largest sums first.
        victims: for each class of frauds, the number of unlabelled senders that also sent ether to a known member of
            the class other than this account.
    """

    address: str
    label: str | None
    in_tx: int
    out_tx: int
    senders: int
    receivers: int
    in_wei: int
    out_wei: int
    balance_wei: int
    first_time: int
    last_time: int
    dealings: tuple[Dealings, ...]
    victims: Mapping[str, int]

    @property
    def role(self) -> Role:
        """``payer`` if it never received, ``payee`` if it never sent."""
        return ROLES[2 if self.in_tx and self.out_tx else 1 if self.in_tx else 0 if self.out_tx else 3]

    @property
    def is_partial(self) -> bool:
        """Whether it paid more than came in: the transactions lack some of its own, as those of a partial crawl do."""
        return self.balance_wei < 0

    def sentences(self, label: str | None = None) -> list[str]:
        """The facts about labelled counterparties, those about the class ``label`` first, then by ether.

        The last one says if the transactions are a partial crawl.
        """
        facts = [
            fact
            for dealings in self.dealings
            if dealings.label not in (None, BACKGROUND)
            for fact in self._said(dealings)
        ]
        facts += [self._of_victims(name, count) for name, count in self.victims.items()]
        facts.sort(key=lambda fact: (fact.label != label, -fact.wei, -fact.accounts, fact.text))
        return [fact.text for fact in facts] + [f"paid more than came in: {PARTIAL}"] * self.is_partial

    def _said(self, dealings: Dealings) -> "Iterator[_Fact]":
        name, is_sent = str(dealings.label), dealings.way == "sent"
        number, whole = (self.receivers, self.out_wei) if is_sent else (self.senders, self.in_wei)
        end = "to" if is_sent else "from"
        if number > 1 and whole and dealings.largest_wei >= _MOST * whole:
            percent = 100 * dealings.largest_wei // whole
            text = f"{dealings.way} {percent} % of its ether {end} one account, a known {name}"
            yield _Fact(name, dealings.wei, dealings.accounts, text)
            if dealings.accounts == 1:
                return
        text = f"{dealings.way} {end} {_of_them(number, dealings.accounts, f'known {name}')}"
        yield _Fact(name, dealings.wei, dealings.accounts, text)

    def _of_victims(self, name: str, count: int) -> "_Fact":
        one, many = f"known {name} victim", f"known {name} victims"
        return _Fact(name, 0, count, f"received from {_of_them(self.senders, count, many, one)}")


class _Fact(NamedTuple):
    """A sentence, and what it is sorted by."""

    label: str
    wei: int
    accounts: int
    text: str


def _of_them(number: int, count: int, kind: str, one: str = "") -> str:
    """How many of the counterparties are of a kind: ``14 accounts, 3 of them known Phish``."""
    if number == 1:
        return f"1 account, a {one or kind}"
    some = (
        f"all of them {kind}" if count == number else f"{count:,} of them {kind if count > 1 else f'a {one or kind}'}"
    )
    return f"{number:,} accounts, {some}"


def stored_labels(folder: Path) -> dict[str, str]:
    """The known labels of the accounts of a dataset folder, by address."""
    from pyarrow import parquet

    table = parquet.read_table(folder / ACCOUNTS, columns=["address", "label"])
    labelled = table.filter(table["label"].is_valid())
    return dict(zip(*(labelled[name].to_pylist() for name in ("address", "label")), strict=True))


class AccountTables:
    """The tables ``accounts.parquet`` and ``edges.parquet`` of a dataset folder.

    Args:
        folder: as ``mggcn ethereum build`` writes it.
        labels: the known labels by address, instead of those of the accounts' table.
    """

    def __init__(self, folder: Path, labels: Mapping[str, str] | None = None) -> None:
        self.accounts, self.edges = (folder / name for name in (ACCOUNTS, EDGES))
        for file in (self.accounts, self.edges):
            if not file.is_file():
                raise InputError(f"{file}: no such file; facts need a folder that mggcn ethereum build has written")
        self._labels = labels

    def facts(self, addresses: Sequence[str]) -> list[AccountFacts]:
        """The facts about accounts, in the order of their addresses; InputError for one that is not in the tables."""
        wanted = list(dict.fromkeys(addresses))
        with TemporaryDirectory() as work, one_line_errors(str(self.accounts.parent)):
            database = connect(Path(work), _MEMORY)
            try:
                self._create_views(database, wanted)
                accounts = {row["address"]: row for row in _rows(database, _OF_ACCOUNTS)}
                dealings: dict[str, list[Dealings]] = {address: [] for address in wanted}
                for row in _rows(database, _DEALINGS):
                    dealings[row.pop("account")].append(Dealings(**row))
                victims: dict[str, dict[str, int]] = {address: {} for address in wanted}
                for row in _rows(database, _VICTIMS, {"frauds": [*_FRAUDS]}):
                    victims[row["account"]][row["label"]] = row["count"]
            finally:
                database.close()
        for address in wanted:
            if address not in accounts:
                raise InputError(f"{self.accounts}: no account {address!r}")
        return [
            AccountFacts(**accounts[address], dealings=tuple(dealings[address]), victims=victims[address])
            for address in addresses
        ]

    def eligible(self, min_transactions: int, min_received: Fraction, roles: Sequence[Role]) -> NDArray[np.bool_]:
        """[n] whether each account of the table has as many transactions, received as much ether, and has a role."""
        import pyarrow
        from pyarrow import compute, parquet

        table = parquet.read_table(self.accounts, columns=["in_tx", "out_tx", "in_wei"])
        received, sent = (table[name].to_numpy() for name in ("in_tx", "out_tx"))
        index = np.where(received > 0, np.where(sent > 0, 2, 1), np.where(sent > 0, 0, 3))
        least = pyarrow.scalar(Decimal(ceil(min_received * ETHER)), pyarrow.decimal128(38))
        has_received = compute.greater_equal(table["in_wei"], least).to_numpy()
        has_role = np.isin(index, [ROLES.index(role) for role in roles])
        return np.asarray((received + sent >= min_transactions) & has_received & has_role)

    def _create_views(self, database: Database, wanted: Sequence[str]) -> None:
        import pyarrow

        database.register("wanted", pyarrow.table({"address": pyarrow.array(wanted, pyarrow.string())}))
        for name, file in (("accounts", self.accounts), ("edges", self.edges)):
            database.from_parquet(str(file)).create_view(name)
        if self._labels is None:
            database.execute("CREATE VIEW known AS SELECT address, label FROM accounts WHERE label IS NOT NULL")
            return
        columns = {"address": [*self._labels], "label": [*self._labels.values()]}
        schema = pyarrow.schema(dict.fromkeys(columns, pyarrow.string()))
        database.register("known", pyarrow.table(columns, schema=schema))


_OF_ACCOUNTS = """
SELECT address, known.label, in_tx, out_tx, in_degree AS senders, out_degree AS receivers,
    in_wei, out_wei, balance_wei, first_time, last_time
FROM accounts JOIN wanted USING (address) LEFT JOIN known USING (address)
"""
_DEALINGS = """
WITH ways AS (
    SELECT from_address AS account, 'sent' AS way, to_address AS other, * FROM edges
    UNION ALL
    SELECT to_address, 'received', from_address, * FROM edges
)
SELECT account, way, known.label, count(*) AS accounts, sum(count)::BIGINT AS transactions,
    sum(value_wei)::DECIMAL(38, 0) AS wei, min(first_time) AS first, max(last_time) AS last,
    first(other ORDER BY value_wei DESC, other) AS largest, max(value_wei) AS largest_wei
FROM ways JOIN wanted ON account = wanted.address LEFT JOIN known ON other = known.address
GROUP BY account, way, known.label
ORDER BY account, wei DESC, way, known.label
"""
_VICTIMS = """
WITH paid AS (
    SELECT from_address AS payer, label, count(*) AS members FROM edges JOIN known ON to_address = address
    WHERE value_wei > 0 AND lower(label) IN $frauds AND from_address NOT IN (SELECT address FROM known)
    GROUP BY payer, label
)
SELECT to_address AS account, paid.label, count(*) AS count
FROM edges JOIN wanted ON to_address = wanted.address JOIN paid ON payer = from_address
    LEFT JOIN known ON known.address = to_address AND known.label = paid.label AND value_wei > 0
WHERE members > (known.address IS NOT NULL)::INT
GROUP BY account, paid.label
ORDER BY account, count DESC, paid.label
"""


def _rows(database: Database, query: str, values: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """The rows of a query; exact numbers are Python's integers."""
    found = database.execute(query, values)
    names = [column[0] for column in found.description]
    return [
        {name: int(value) if isinstance(value, Decimal) else value for name, value in zip(names, row, strict=True)}
        for row in found.fetchall()
    ]
