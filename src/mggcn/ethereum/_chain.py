"""The transactions of a chain as a database that answers questions about single accounts, in exact wei.

The rows are those of the stage ``transactions`` of a build, so the same rules have dropped or changed them. Money moves
in a row if two accounts are its ends; a row that failed, or that an account sent to itself, only costs its fee.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from mggcn._io.database import Database, connect, megabytes, one_line_errors
from mggcn._io.locations import Location
from mggcn._io.temporary import temporary_folder
from mggcn.errors import InputError
from mggcn.ethereum import _formats
from mggcn.ethereum import _pipeline as pipeline
from mggcn.ethereum._build_files import BuildInputs, expand, is_simulated
from mggcn.ethereum._engines import open_engine, stage_files
from mggcn.ethereum._pipeline import RuleCounts

Side = Literal["received", "sent"]
Unit = Literal["day", "week", "month"]

_DAY = 86_400
_UNITS: tuple[tuple[Unit, int], ...] = (("day", 90 * _DAY), ("week", 600 * _DAY))
"""The units of a timeline, each with the longest span in seconds for which it is used; else months."""
_HASH = "^(0x)?[0-9a-f]{64}$"
_KINDS = {
    "failed": "failed",
    "genesis": "genesis",
    "unknown_contract": "created an unknown contract",
    "to_itself": "to itself",
    "creation": "created a contract",
}
"""The flags of a row that its ``kind`` names, the first that is set."""


@dataclass(frozen=True)
class Transaction:
    """A row of the transactions; without ``moves`` both ends are the sender, and only ``fee_wei`` left the account."""

    time: str
    sender: str
    receiver: str
    wei: int
    fee_wei: int
    transactions: int  # that the row adds up
    moves: bool
    kind: str  # what is special about it, empty for a plain transfer
    hash: str  # empty if the file has none


@dataclass(frozen=True)
class Sum:
    """Transactions in one direction between an account and one or more others."""

    transactions: int = 0
    wei: int = 0
    accounts: int = 0
    first: str | None = None
    last: str | None = None


@dataclass(frozen=True)
class Funding:
    """The first transaction by which an account received ether."""

    sender: str
    time: str
    wei: int
    hash: str


@dataclass(frozen=True)
class Activity:
    """What all transactions of an account add up to."""

    received: Sum
    sent: Sum
    fee_wei: int
    failed: int  # transactions that it sent
    genesis_wei: int
    balance_wei: int  # received and genesis, minus sent and fees; below zero if transactions are missing
    funding: Funding | None


@dataclass(frozen=True)
class Counterparty:
    """What went from and to one other account."""

    address: str
    received: Sum
    sent: Sum


@dataclass(frozen=True)
class Period:
    """What an account received and sent in a day, a week or a month."""

    start: str
    received: Sum
    sent: Sum


@dataclass(frozen=True)
class Others:
    """Further accounts, added up."""

    accounts: int = 0
    transactions: int = 0
    wei: int = 0


@dataclass(frozen=True)
class Hop:
    """Amounts between an account and others beyond it, the largest first."""

    largest: tuple[tuple[str, Sum], ...]
    others: Others


def iso(seconds: int | None) -> str | None:
    """Seconds since 1970 as a time in UTC."""
    return None if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


@contextmanager
def open_chain(
    inputs: BuildInputs, out: Path, *, memory: str = "4GB", on_stage: pipeline.OnStage = lambda _: None
) -> Iterator["Chain"]:
    """Read transactions once, for questions about any number of accounts; ``out`` is beside the temporary folder."""
    with temporary_folder(out) as folder:
        here, work = inputs.here(folder), Location.of(folder / "stages")
        work.create()
        with open_engine("duckdb", work, memory) as engine:
            _, tally = pipeline.read_transactions(engine, here, on_stage, also=("hash", "block"))
        if "token" in tally.types:
            raise InputError("a case is of ether: give the transactions and traces without transfers of tokens")
        names = tuple(Path(str(file)).name for file in inputs.transactions)
        if _formats.TYPES[_formats.TOKEN] in tally.types:
            raise InputError(f"{', '.join(names)}: a case file adds up ether; leave out the token transfers")
        simulated = any(map(is_simulated, expand(here.transactions)))
        database = connect(folder, megabytes(memory))
        try:
            paths = [file.path for file in stage_files(work, "transactions")]
            file = str(folder / "rows.duckdb").replace("'", "''")
            database.execute(f"ATTACH '{file}' AS chain")
            database.execute("USE chain")
            yield Chain(database, paths, tally, names, simulated=simulated)
        finally:
            database.close()


class Chain:
    """The transactions of a chain.

    Args:
        database: gets the rows as a table.
        files: the stage ``transactions``, with hash and block.
        tally: what the rules did.
        names: of the files that were read.
        simulated: whether a file says that it is.
    """

    def __init__(
        self, database: Database, files: Sequence[str], tally: RuleCounts, names: Sequence[str], *, simulated: bool
    ) -> None:
        self.tally, self.names, self.simulated = tally, names, simulated
        self._database = database
        kinds = " ".join(f"WHEN {flag} THEN '{words}'" for flag, words in _KINDS.items())
        listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
        self._rows(
            f"""CREATE TABLE rows AS SELECT src, dst, time, wei, fee, count, moves, block, failed, genesis,
                CASE {kinds} ELSE '' END AS kind,
                CASE WHEN regexp_matches(split_part(hash, '/', 1), '{_HASH}') THEN split_part(hash, '/', 1) ELSE '' END
                    AS hash
            FROM read_parquet([{listed}]) WHERE copy = ''"""  # noqa: S608 - the paths are quoted
        )

    def __contains__(self, address: str) -> bool:
        return bool(self._rows("SELECT 1 FROM rows WHERE src = $a OR dst = $a LIMIT 1", a=address))

    def addresses(self) -> list[str]:
        """All accounts, sorted."""
        return [name for (name,) in self._rows("SELECT src FROM rows UNION SELECT dst FROM rows ORDER BY 1")]

    def transactions(self, address: str) -> list[Transaction]:
        """All rows of an account in the order of time."""
        found = self._rows(
            """SELECT time, src, dst, wei, fee, count, moves, kind, hash FROM rows WHERE src = $a OR dst = $a
            ORDER BY time, block, hash, src, dst, wei, fee, count""",
            a=address,
        )
        return [
            Transaction(str(iso(time)), src, dst, int(wei), int(fee), *more)
            for time, src, dst, wei, fee, *more in found
        ]

    def activities(self, addresses: Iterable[str]) -> dict[str, Activity]:
        """The sums of several accounts; of nothing for those without a row."""
        wanted = list(dict.fromkeys(addresses))
        sums = {
            side: {
                account: _sum(*values)
                for account, *values in self._rows(
                    f"""SELECT {own}, sum(count), sum(wei), count(DISTINCT {other}), min(time), max(time) FROM rows
                    WHERE moves AND {own} IN (SELECT unnest($wanted)) GROUP BY {own}""",  # noqa: S608
                    wanted=wanted,
                )
            }
            for side, own, other in (("received", "dst", "src"), ("sent", "src", "dst"))
        }
        costs = {
            account: tuple(map(int, values))
            for account, *values in self._rows(
                """SELECT src, sum(fee), count(*) FILTER (failed), coalesce(sum(wei) FILTER (genesis), 0) FROM rows
                WHERE src IN (SELECT unnest($wanted)) GROUP BY src""",
                wanted=wanted,
            )
        }
        first = {
            account: Funding(sender, str(iso(time)), int(wei), name)
            for account, sender, time, wei, name in self._rows(
                """SELECT dst, src, time, wei, hash FROM rows
                WHERE moves AND wei > 0 AND dst IN (SELECT unnest($wanted))
                QUALIFY row_number() OVER (PARTITION BY dst ORDER BY time, block, wei DESC, src) = 1""",
                wanted=wanted,
            )
        }
        found = {}
        for account in wanted:
            received, sent = (sums[side].get(account, Sum()) for side in ("received", "sent"))
            fee, failed, genesis = costs.get(account, (0, 0, 0))
            balance = received.wei + genesis - sent.wei - fee
            found[account] = Activity(received, sent, fee, failed, genesis, balance, first.get(account))
        return found

    def counterparties(self, address: str) -> list[Counterparty]:
        """Everyone with whom money moved, those with the largest sum of both directions first."""
        found: dict[str, dict[Side, Sum]] = {}
        for other, is_sent, *values in self._rows(
            """SELECT CASE WHEN src = $a THEN dst ELSE src END AS other, src = $a, sum(count), sum(wei), 1,
                min(time), max(time) FROM rows WHERE moves AND (src = $a OR dst = $a) GROUP BY ALL""",
            a=address,
        ):
            found.setdefault(other, {})["sent" if is_sent else "received"] = _sum(*values)
        both = [Counterparty(other, one.get("received", Sum()), one.get("sent", Sum())) for other, one in found.items()]
        return sorted(both, key=lambda one: (-one.received.wei - one.sent.wei, one.address))

    def timeline(self, address: str) -> tuple[Unit, list[Period]]:
        """What moved in each day, week or month in which anything did; the longer the history, the longer the unit."""
        ((first, last),) = self._rows(
            "SELECT min(time), max(time) FROM rows WHERE moves AND (src = $a OR dst = $a)", a=address
        )
        unit: Unit = next((unit for unit, most in _UNITS if (last or 0) - (first or 0) <= most), "month")
        found: dict[str, dict[Side, Sum]] = {}
        for start, is_sent, *values in self._rows(
            f"""SELECT strftime(date_trunc('{unit}', make_timestamp(time * 1000000)), '%Y-%m-%d') AS start, src = $a,
                sum(count), sum(wei), count(DISTINCT CASE WHEN src = $a THEN dst ELSE src END), min(time), max(time)
            FROM rows WHERE moves AND (src = $a OR dst = $a) GROUP BY ALL ORDER BY start""",  # noqa: S608
            a=address,
        ):
            found.setdefault(start, {})["sent" if is_sent else "received"] = _sum(*values)
        return unit, [
            Period(start, one.get("received", Sum()), one.get("sent", Sum())) for start, one in sorted(found.items())
        ]

    def hops(self, side: Side, times: Mapping[str, int], most: int) -> dict[str, Hop]:
        """What several accounts sent since a time of each, or received until it, by pairs that moved any ether.

        Args:
            side: ``sent`` since the time, or ``received`` until it.
            times: of each account, in seconds since 1970.
            most: the number of counterparties of each that are named.
        """
        own, other, within = ("src", "dst", ">=") if side == "sent" else ("dst", "src", "<=")
        found = self._rows(
            f"""WITH wanted AS (SELECT unnest($names) AS name, unnest($times) AS bound),
            pairs AS (
                SELECT name, {other} AS other, sum(count) AS count, sum(wei) AS wei, min(time) AS low, max(time) AS high
                FROM rows JOIN wanted ON {own} = name AND time {within} bound WHERE moves
                GROUP BY name, {other} HAVING sum(wei) > 0),
            sorted AS (SELECT *, row_number() OVER (PARTITION BY name ORDER BY wei DESC, other) AS position FROM pairs),
            named AS (SELECT *, CASE WHEN position <= $most THEN other END AS account FROM sorted)
            SELECT name, account, sum(count), sum(wei), count(*), min(low), max(high) FROM named
            GROUP BY name, account ORDER BY name, min(position)""",  # noqa: S608
            names=list(times),
            times=list(times.values()),
            most=most,
        )
        named: dict[str, list[tuple[str, Sum]]] = {name: [] for name in times}
        rest = dict.fromkeys(times, Others())
        for name, account, *values in found:
            total = _sum(*values)
            if account is None:
                rest[name] = Others(total.accounts, total.transactions, total.wei)
            else:
                named[name].append((account, total))
        return {name: Hop(tuple(named[name]), rest[name]) for name in times}

    def _rows(self, query: str, **values: Any) -> list[Any]:
        with one_line_errors("transactions"):
            return list(self._database.execute(query, values or None).fetchall())


def _sum(transactions: Any, wei: Any, accounts: int, first: int, last: int) -> Sum:
    return Sum(int(transactions), int(wei), accounts, iso(first), iso(last))
