"""The facts of case files, computed again by pandas and plain Python from a file of transactions."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

Facts = dict[str, Any]
BRANCHES, LEAVES, LISTED, NEIGHBOURS = 6, 3, 50, 8


class Moved(NamedTuple):
    """A row: ``moves`` if ether or a call went from one account to another."""

    time: int
    block: int
    hash: str
    src: str
    dst: str
    wei: int
    fee: int
    moves: bool
    kind: str


class Ledger:
    """The rows of ethereum-etl's columns, of which hash, block, status, gas and its price may be missing."""

    def __init__(self, path: Path, labels: dict[str, str]) -> None:
        frame = pd.read_parquet(path)
        if "hash" in frame:
            assert frame["hash"].is_unique
        self.labels = labels
        self.of: dict[str, list[Moved]] = defaultdict(list)
        for row in frame.to_dict("records"):
            one = _moved(row)
            for account in {one.src, one.dst}:
                self.of[account].append(one)

    def facts(self, account: str) -> Facts:
        """What the JSON of a case file without scores says, but for ``findings`` and ``origin``."""
        own = self.of[account]
        others = self._others(account)
        labelled = {other: self.labels[other] for other in others if other in self.labels}
        by_label: dict[Any, list[str]] = defaultdict(list)
        for other in others:
            by_label[self.labels.get(other)].append(other)
        flows = {side: self._flow(account, side) for side in ("received", "sent")}
        beyond = [leaf for flow in flows.values() for one in flow["branches"] for leaf in one["beyond"]]
        labelled |= {leaf["address"]: leaf["label"] for leaf in beyond if leaf["label"]}
        if account in self.labels:
            labelled[account] = self.labels[account]
        unit, timeline = self._timeline(account)
        return {
            "account": self._subject(account),
            "unit": unit,
            "timeline": timeline,
            "num_counterparties": len(others),
            "counterparties": [
                {"address": one, "label": self.labels.get(one), "score": None} | self._both(account, {one})
                for one in others[:LISTED]
            ],
            "by_label": [
                {"label": label} | self._both(account, set(by_label[label]))
                for label in sorted(by_label, key=lambda label: (label is None, label or ""))
            ],
            "labels": labelled,
            **flows,
            "neighbours": self._neighbours(account, others),
            "transactions": [
                {
                    "time": iso(one.time),
                    "sender": one.src,
                    "receiver": one.dst,
                    "wei": str(one.wei),
                    "fee_wei": str(one.fee),
                    "transactions": int(one.moves),
                    "moves": one.moves,
                    "kind": one.kind,
                    "hash": one.hash,
                }
                for one in sorted(own, key=lambda one: (one.time, one.block, one.hash, one.src, one.dst, one.wei))
            ],
        }

    def _others(self, account: str) -> list[str]:
        sums: dict[str, int] = defaultdict(int)
        for one in self.of[account]:
            if one.moves:
                sums[one.dst if one.src == account else one.src] += one.wei
        return sorted(sums, key=lambda other: (-sums[other], other))

    def _both(self, account: str, others: set[str] | None = None) -> Facts:
        """What an account received from and sent to some accounts, or to all."""
        pick = (lambda _: True) if others is None else others.__contains__
        rows = [one for one in self.of[account] if one.moves]
        return {
            "received": total([(one, one.src) for one in rows if one.dst == account and pick(one.src)]),
            "sent": total([(one, one.dst) for one in rows if one.src == account and pick(one.dst)]),
        }

    def _subject(self, account: str) -> Facts:
        rows, both = self.of[account], self._both(account)
        fees = sum(one.fee for one in rows if one.src == account)
        paid = [one for one in rows if one.moves and one.dst == account and one.wei > 0]
        first = min(paid, key=lambda one: (one.time, one.block, -one.wei, one.src), default=None)
        received, sent = (bool(both[side]["transactions"]) for side in ("received", "sent"))
        balance = int(both["received"]["wei"]) - int(both["sent"]["wei"]) - fees
        return {
            "address": account,
            "label": self.labels.get(account),
            "role": {(True, True): "both", (True, False): "payee", (False, True): "payer"}.get(
                (received, sent), "none"
            ),
            "activity": {
                **both,
                "fee_wei": str(fees),
                "failed": sum(one.kind == "failed" for one in rows if one.src == account),
                "genesis_wei": "0",
                "balance_wei": str(balance),
                "funding": first
                and {"sender": first.src, "time": iso(first.time), "wei": str(first.wei), "hash": first.hash},
            },
            "score": None,
        }

    def _timeline(self, account: str) -> tuple[str, list[Facts]]:
        rows = [one for one in self.of[account] if one.moves]
        days = (max(one.time for one in rows) - min(one.time for one in rows)) / 86_400 if rows else 0
        unit = "day" if days <= 90 else "week" if days <= 600 else "month"
        periods: dict[str, list[Moved]] = defaultdict(list)
        for one in rows:
            periods[start_of(unit, one.time)].append(one)
        return unit, [
            {
                "start": start,
                "received": total([(one, one.src) for one in periods[start] if one.dst == account]),
                "sent": total([(one, one.dst) for one in periods[start] if one.src == account]),
            }
            for start in sorted(periods)
        ]

    def _flow(self, account: str, side: str) -> Facts:
        groups = self._by_other(account, side, lambda _: True)
        names = sorted(groups, key=lambda name: (-sum(one.wei for one in groups[name]), name))
        branches = []
        for name in names[:BRANCHES]:
            low, high = min(one.time for one in groups[name]), max(one.time for one in groups[name])
            first, last = (0, high) if side == "received" else (low, 1 << 62)
            further = self._by_other(name, side, range(first, last + 1).__contains__)
            leaves = sorted(further, key=lambda leaf: (-sum(one.wei for one in further[leaf]), leaf))
            branches.append(
                {
                    "address": name,
                    "label": self.labels.get(name),
                    "amount": total([(one, name) for one in groups[name]]),
                    "beyond": [
                        {
                            "address": leaf,
                            "label": self.labels.get(leaf),
                            "amount": total([(one, leaf) for one in further[leaf]]),
                        }
                        for leaf in leaves[:LEAVES]
                    ],
                    "others": rest([further[leaf] for leaf in leaves[LEAVES:]]),
                }
            )
        return {"branches": branches, "others": rest([groups[name] for name in names[BRANCHES:]])}

    def _by_other(self, account: str, side: str, within: Callable[[int], bool]) -> dict[str, list[Moved]]:
        """The rows that moved ether to or from an account, by the other end; other rows count if the pair moved any."""
        groups: dict[str, list[Moved]] = defaultdict(list)
        for one in self.of[account]:
            own, other = (one.dst, one.src) if side == "received" else (one.src, one.dst)
            if one.moves and own == account and within(one.time):
                groups[other].append(one)
        return {other: rows for other, rows in groups.items() if any(one.wei for one in rows)}

    def _neighbours(self, account: str, others: list[str]) -> list[Facts]:
        why: dict[str, list[str]] = defaultdict(list)
        activity = self._subject(account)["activity"]
        if activity["funding"]:
            why[activity["funding"]["sender"]].append("paid it first")
        for side, words in (("received", "paid {} of what it received"), ("sent", "got {} of what it sent")):
            groups = self._by_other(account, side, lambda _: True)
            sums = {name: sum(one.wei for one in rows) for name, rows in groups.items()}
            for name in sorted(sums, key=lambda name: (-sums[name], name))[:2]:
                why[name].append(words.format(share(sums[name], sum(sums.values()))))
        for name in [name for name in others if name in self.labels][:2]:
            why[name].append(f"labelled {self.labels[name]}")
        return [{"why": words, "account": self._subject(name)} for name, words in list(why.items())[:NEIGHBOURS]]


def _moved(row: Facts) -> Moved:
    receiver = row["to_address"]
    missing = not isinstance(receiver, str) or not receiver
    failed = row.get("receipt_status", 1) == 0
    kind = "failed" if failed else "created an unknown contract" if missing else ""
    kind = kind or ("to itself" if receiver == row["from_address"] else "")
    fee = int(row.get("receipt_gas_used", 0)) * int(row.get("gas_price", 0))
    return Moved(
        int(row["block_timestamp"]),
        int(row.get("block_number", 0)),
        row.get("hash", ""),
        row["from_address"],
        row["from_address"] if kind else receiver,
        0 if kind else int(row["value"]),
        fee,
        not kind,
        kind,
    )


def iso(time: int) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat().replace("+00:00", "Z")


def start_of(unit: str, time: int) -> str:
    day = datetime.fromtimestamp(time, UTC).date()
    first = {"day": day, "week": day - timedelta(days=day.weekday()), "month": day.replace(day=1)}
    return first[unit].isoformat()


def total(rows: Iterable[tuple[Moved, str]]) -> Facts:
    """The sum of rows, each with the account at the other end."""
    rows = list(rows)
    times = [one.time for one, _ in rows]
    return {
        "transactions": len(rows),
        "wei": str(sum(one.wei for one, _ in rows)),
        "accounts": len({other for _, other in rows}),
        "first": iso(min(times)) if rows else None,
        "last": iso(max(times)) if rows else None,
    }


def rest(groups: list[list[Moved]]) -> Facts:
    return {
        "accounts": len(groups),
        "transactions": sum(map(len, groups)),
        "wei": str(sum(one.wei for rows in groups for one in rows)),
    }


def share(part: int, whole: int) -> str:
    percent = Decimal(100) * part / whole
    if 0 < percent < 1:
        return "less than 1 %"
    return "more than 99 %" if 99 < percent < 100 else f"{float(percent):.0f} %"
