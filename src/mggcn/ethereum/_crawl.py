"""The paper's crawl: all transactions of labelled accounts, and those of a random part of their neighbours.

The transactions of a labelled account contain its whole 1-hop neighbourhood. Each neighbour has a number between 0 and
1 that depends only on the seed and its address. Neighbours with a number below ``two_hop`` are fetched too, lowest
first, which adds their part of the 2-hop neighbourhood. The selection therefore does not depend on the order of
fetching, and a crawl can be continued later with a larger part.

Differs from the paper: it took ten neighbours of each labelled account (according to a comment in its source). A part
of all neighbours is proportional to the sizes of the neighbourhoods.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from mggcn._io import regular
from mggcn.errors import InputError
from mggcn.ethereum._etherscan import MAINNET, Cursor, Etherscan, Kinds, Record
from mggcn.ethereum._labels import is_address
from mggcn.keys import Key

OnProgress = Callable[[str, int, int], None]
"""Called with the stage, the number of its accounts that are finished, and their total."""

TRANSACTIONS, JOURNAL = "transactions.jsonl", "journal.log"
INTERNAL = "internal"
"""The folder of the internal transactions, with the same two files, in the folder of a crawl."""


@dataclass(frozen=True)
class Crawled:
    """The contents of a folder after a crawl.

    Args:
        labelled: labelled accounts fetched, and their total.
        neighbours: neighbours fetched, and the number selected.
        records: transactions in the file; a transaction between two fetched accounts is there twice.
        cut: accounts of which only the first transactions were fetched.
        calls: API calls of this process.
        retries: how many of them repeated a failed call.
        internal: internal transactions, in a file of their own.
    """

    labelled: tuple[int, int]
    neighbours: tuple[int, int]
    records: int
    cut: int
    calls: int
    retries: int
    internal: int = 0


class Store(AbstractContextManager["Store"]):
    """The folder of a crawl, opened by one process at a time; it survives a kill of the process at any moment.

    It holds ``transactions.jsonl``, one record of the API per line, and ``journal.log``, one line per page: the
    account, where its next page starts, and the length of the first file after that page. A page counts once its
    journal line is complete. What a killed process wrote after the last complete line is removed when the folder is
    opened again. The journal's first line is written before any transaction, so a file of transactions without a
    journal belongs to somebody else and is not touched. The seed, ``accounts``, a digest of the labelled accounts, and
    the chain cannot change when a crawl is continued.
    """

    def __init__(self, folder: Path, seed: int, accounts: str, chain: int = MAINNET) -> None:
        self.folder, self.file, journal = folder, folder / TRANSACTIONS, folder / JOURNAL
        self.finished: set[str] = set()  # the accounts that are fetched completely or cut short
        self.cut: set[str] = set()  # the accounts that are cut short
        self.count = 0  # the number of records
        self._positions: dict[str, tuple[Cursor, int]] = {}
        self._length = 0
        if self.file.exists() and not (journal.exists() and b"\n" in regular.read(journal)):
            raise InputError(f"{self.file}: not written by a crawl, {JOURNAL} does not list it; choose another folder")
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            self._journal: BinaryIO = stack.enter_context(regular.open_to_append(journal))
            try:
                fcntl.flock(self._journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(f"{folder}: another crawl is writing here") from None
            self._read_journal({"seed": seed, "accounts": accounts} | ({} if chain == MAINNET else {"chain": chain}))
            self._lines: BinaryIO = stack.enter_context(regular.open_to_append(self.file))
            size = self._lines.seek(0, os.SEEK_END)
            if size < self._length:
                damage = f"{size:,} bytes, but the journal lists {self._length:,}; the file is damaged"
                raise InputError(f"{self.file}: {damage}")
            self._lines.truncate(self._length)  # without the incomplete page of a killed process
            self._files = stack.pop_all()

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def position(self, account: str) -> tuple[Cursor, int]:
        """Return where the next page of an unfinished account starts, and how many of its records are stored."""
        return self._positions.get(account, (Cursor(), 0))

    def add(self, account: str, page: list[Record], next_cursor: Cursor | None, *, cut: bool = False) -> None:
        """Store a page; ``next_cursor`` is None if the account is finished, and ``cut`` says that more was left."""
        text = b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in page)
        _append(self._lines, text)
        length = self._length + len(text)
        fields = None if next_cursor is None else asdict(next_cursor)
        self._log({"account": account, "records": len(page), "length": length, "next": fields, "cut": cut})
        self._count_page(account, len(page), length, next_cursor, cut)

    def records(self) -> Iterator[Record]:
        """Yield all records stored so far."""
        with regular.open_regular(self.file) as file:
            yield from map(json.loads, file)

    def _count_page(self, account: str, records: int, length: int, next_cursor: Cursor | None, cut: bool) -> None:
        self.count += records
        self._length = length
        _, before = self._positions.pop(account, (None, 0))
        if next_cursor is not None:
            self._positions[account] = next_cursor, before + records
            return
        self.finished.add(account)
        if cut:
            self.cut.add(account)

    def _log(self, fields: dict[str, Any]) -> None:
        _append(self._journal, json.dumps(fields).encode() + b"\n")

    def _read_journal(self, settings: dict[str, Any]) -> None:
        self._journal.seek(0)
        complete, end, incomplete = self._journal.read().rpartition(b"\n")
        if not end:
            first = {"crawl": settings}
            if not json.dumps(first).encode().startswith(incomplete):
                raise self._bad_line(1)
            self._journal.truncate(0)
            self._log(first)
            return
        for number, line in enumerate(complete.split(b"\n"), 1):
            try:
                fields = json.loads(line)
                if number == 1:
                    self._check_settings(fields["crawl"], settings)
                    continue
                position = fields["next"]
                cursor = position and Cursor(position["block"], position["page"], tuple(position["seen"]))
                self._count_page(fields["account"], fields["records"], fields["length"], cursor, fields["cut"])
            except InputError:
                raise
            except (ValueError, TypeError, KeyError):
                raise self._bad_line(number) from None
        self._journal.truncate(len(complete) + len(end))

    def _bad_line(self, number: int) -> InputError:
        return InputError(f"{self.folder / JOURNAL}: line {number}: not a line of a crawl's journal")

    def _check_settings(self, begun: dict[str, Any], now: dict[str, Any]) -> None:
        if begun["seed"] != now["seed"]:
            raise InputError(f"{self.folder}: begun with seed {begun['seed']}, not {now['seed']}")
        chains = [settings.get("chain", MAINNET) for settings in (begun, now)]
        if chains[0] != chains[1]:
            raise InputError(f"{self.folder}: begun with chain {chains[0]}, not {chains[1]}")
        if begun["accounts"] != now["accounts"]:
            raise InputError(
                f"{self.folder}: begun with other labelled accounts; use the same ones, or choose another folder"
            )


def crawl(
    api: Etherscan,
    labelled: Iterable[str],
    folder: Path,
    *,
    two_hop: float = 0.1,
    seed: int = 0,
    max_accounts: int | None = None,
    max_transactions: int | None = None,
    internal: bool = False,
    on_progress: OnProgress = lambda _stage, _done, _total: None,
) -> Crawled:
    """Fetch accounts into ``folder``; a crawl that was interrupted is continued.

    Args:
        api: the API client.
        labelled: addresses in lower case.
        folder: receives ``transactions.jsonl``, which ``mggcn ethereum build`` reads.
        two_hop: the part of the labelled accounts' neighbours to fetch, 0 to 1.
        seed: selects that part.
        max_accounts: the largest number of accounts to fetch in all.
        max_transactions: the largest number of transactions to fetch for one account, rounded up to full pages.
        internal: also fetch the internal transactions of the same accounts, into a folder ``internal``.
        on_progress: called after every finished account.
    """
    if not 0 <= two_hop <= 1:
        raise InputError(f"two-hop: {two_hop} is not between 0 and 1")
    for name, value in (("max-accounts", max_accounts), ("max-transactions", max_transactions)):
        if value is not None and value < 1:
            raise InputError(f"{name}: {value} is not a positive number")
    accounts = sorted(set(labelled))
    digest = hashlib.sha256("\n".join(accounts).encode()).hexdigest()
    with ExitStack() as stack:
        store = stack.enter_context(Store(folder, seed, digest, api.chain))
        stores: dict[Kinds, Store] = {"txlist": store}
        if internal:
            stores["txlistinternal"] = stack.enter_context(Store(folder / INTERNAL, seed, digest, api.chain))
        _fetch(api, stores, accounts[:max_accounts], max_transactions, "labelled accounts", on_progress)
        neighbours: list[str] = []
        if max_accounts is None or max_accounts > len(accounts):
            limit = None if max_accounts is None else max_accounts - len(accounts)
            neighbours = _select_neighbours(stores.values(), set(accounts), two_hop, seed)[:limit]
            _fetch(api, stores, neighbours, max_transactions, "their neighbours", on_progress)
        return Crawled(
            labelled=(len(store.finished.intersection(accounts)), len(accounts)),
            neighbours=(len(store.finished.intersection(neighbours)), len(neighbours)),
            records=store.count,
            cut=len(store.cut),
            calls=api.calls,
            retries=api.retries,
            internal=stores["txlistinternal"].count if internal else 0,
        )


def draw(address: str, key: Key) -> float:
    """Return the number between 0 and 1 that decides whether a neighbour is fetched."""
    number = int(address, 16)
    return key.fold(number >> 64, number).value / 2**64


def _fetch(
    api: Etherscan,
    stores: Mapping[Kinds, Store],
    accounts: list[str],
    limit: int | None,
    stage: str,
    on_progress: OnProgress,
) -> None:
    """Fetch the accounts that are not finished."""
    finished = set.intersection(*(store.finished for store in stores.values()))
    waiting = [account for account in accounts if account not in finished]
    done = len(accounts) - len(waiting)
    on_progress(stage, done, len(accounts))
    for account in waiting:
        for kind, store in stores.items():
            if account not in store.finished:
                _fetch_account(api, kind, store, account, limit)
        done += 1
        on_progress(stage, done, len(accounts))


def _fetch_account(api: Etherscan, kind: Kinds, store: Store, account: str, limit: int | None) -> None:
    cursor, fetched = store.position(account)
    for page, next_cursor in api.pages(account, cursor, kind):
        fetched += len(page)
        cut = limit is not None and fetched >= limit and next_cursor is not None
        store.add(account, page, None if cut else next_cursor, cut=cut)
        if cut:
            break


def _select_neighbours(stores: Iterable[Store], labelled: set[str], two_hop: float, seed: int) -> list[str]:
    """Return the neighbours of labelled accounts to fetch, in the order of their numbers."""
    key = Key.of(seed).fold("two-hop")
    records = (record for store in stores for record in store.records())
    numbers = {address: draw(address, key) for record in records for address in _neighbours(record, labelled)}
    return sorted((address for address in numbers if numbers[address] < two_hop), key=numbers.__getitem__)


def _neighbours(record: Record, labelled: set[str]) -> Iterator[str]:
    """Yield the other account of a labelled account's transaction, if it is an account."""
    ends = record["from"].lower(), record["to"].lower()
    for account, other in (ends, ends[::-1]):
        if account in labelled and other not in labelled and is_address(other):
            yield other


def _append(file: BinaryIO, content: bytes) -> None:
    file.write(content)
    file.flush()
    os.fsync(file.fileno())
