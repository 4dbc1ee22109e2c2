"""The paper's crawl: all transactions of labelled accounts, and those of a random part of their neighbours.

The transactions of a labelled account contain its whole 1-hop neighbourhood. Each neighbour has a number between 0 and
1 that depends only on the seed and its address. Those with a number below ``two_hop`` are fetched too, lowest first:
the selection does not depend on the order of fetching, and a crawl can be continued later with a larger part.

Differs from the paper: it took ten neighbours of each labelled account (according to a comment in its source). A part
of all neighbours is proportional to the sizes of the neighbourhoods.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from mggcn._io import regular
from mggcn._io.files import checksummed
from mggcn._io.log import Log
from mggcn.errors import InputError
from mggcn.ethereum._etherscan import MAINNET, Cursor, Etherscan, Kinds, Record
from mggcn.ethereum._label_lists import is_address
from mggcn.keys import Key

OnProgress = Callable[[str, int, int], None]
"""Called with the stage, the number of its accounts that are finished, and their total."""

TRANSACTIONS, JOURNAL = "transactions.jsonl", "journal.log"
_LINE = "a line of a crawl's journal"
INTERNAL = "internal"  # the folder of the internal transactions, with the same two files, in the folder of a crawl


@dataclass(frozen=True)
class Crawled:
    """The contents of a folder after a crawl."""

    labelled: tuple[int, int]  # labelled accounts fetched, and their total
    neighbours: tuple[int, int]  # neighbours fetched, and the number selected
    records: int  # transactions in the file; one between two fetched accounts is there twice
    cut: int  # accounts of which only the first transactions were fetched
    calls: int  # API calls of this process
    retries: int  # how many of them repeated a failed call
    internal: int = 0  # internal transactions, in a file of their own


class _Begun(msgspec.Struct, frozen=True, tag="begun"):
    """The first line of a crawl's journal: what cannot change; ``accounts`` is a digest of the labelled accounts."""

    seed: int
    accounts: str
    chain: int


class _Page(msgspec.Struct, frozen=True, tag="page"):
    """A line of the journal for each page: the number of records, and the length of the file after it.

    ``next`` is where the account's next page starts, None after its last; ``cut`` says that more was left.
    """

    account: str
    records: int
    length: int
    next: Cursor | None
    cut: bool


class Store(AbstractContextManager["Store"]):
    """The folder of a crawl, opened by one process at a time; it survives a kill of the process at any moment.

    It holds ``transactions.jsonl``, one record of the API per line, and ``journal.log``, a log with one line per page.
    A page counts once its line is complete. What a killed process wrote after the last complete line is removed when
    the folder is opened again. The journal's first line is written before any transaction, so a file of transactions
    without a journal belongs to somebody else and is not touched.
    """

    def __init__(self, folder: Path, seed: int, accounts: str, chain: int = MAINNET) -> None:
        self.folder, self.file = folder, folder / TRANSACTIONS
        self.finished: set[str] = set()  # the accounts that are fetched completely or cut short
        self.cut: set[str] = set()  # the accounts that are cut short
        self.count = 0  # the number of records
        self._positions: dict[str, tuple[Cursor, int]] = {}
        self._length = 0
        entry: Any = _Begun | _Page
        self._journal = Log[_Begun | _Page](folder / JOURNAL, _LINE, lambda fields: msgspec.convert(fields, entry))
        begun = _Begun(seed, accounts, chain)
        self._check_files(begun)
        with ExitStack() as stack:
            self._read(stack.enter_context(self._journal.held()), begun)
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
        self._lines.write(text)
        self._lines.flush()
        os.fsync(self._lines.fileno())
        entry = _Page(account, len(page), self._length + len(text), next_cursor, cut)
        self._journal.append(msgspec.to_builtins(entry))
        self._count_page(entry)

    def records(self) -> Iterator[Record]:
        """Yield all records stored so far."""
        with regular.open_regular(self.file) as file:
            yield from map(json.loads, file)

    def _count_page(self, page: _Page) -> None:
        self.count += page.records
        self._length = page.length
        _, before = self._positions.pop(page.account, (None, 0))
        if page.next is not None:
            self._positions[page.account] = page.next, before + page.records
        else:
            self.finished.add(page.account)
        if page.cut:
            self.cut.add(page.account)

    def _check_files(self, begun: _Begun) -> None:
        """Raise InputError, and change nothing, if the files of the folder are not those of a crawl."""
        path = self._journal.path
        content = regular.read(path) if path.exists() else b""
        is_begun = b"\n" in content
        if self.file.exists() and not is_begun:
            raise InputError(f"{self.file}: not written by a crawl, {JOURNAL} does not list it; choose another folder")
        if not is_begun and not checksummed(json.dumps(msgspec.to_builtins(begun)), " ").startswith(content):
            raise InputError(f"{path}: line 1: not {_LINE}")

    def _read(self, entries: list[_Begun | _Page], now: _Begun) -> None:
        """Count the pages of the journal; raise InputError if it is that of another crawl."""
        if not entries:
            self._journal.append(msgspec.to_builtins(now))
        for number, entry in enumerate(entries, 1):
            if isinstance(entry, _Begun) != (number == 1):
                raise InputError(f"{self._journal.path}: line {number}: not {_LINE}")
            if isinstance(entry, _Page):
                self._count_page(entry)
                continue
            for name in ("seed", "chain"):
                if getattr(entry, name) != getattr(now, name):
                    raise InputError(
                        f"{self.folder}: begun with {name} {getattr(entry, name)}, not {getattr(now, name)}"
                    )
            if entry.accounts != now.accounts:
                problem = "begun with other labelled accounts; use the same ones, or choose another folder"
                raise InputError(f"{self.folder}: {problem}")


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
        raise InputError(f"two_hop: {two_hop} is not between 0 and 1")
    for name, value in (("max_accounts", max_accounts), ("max_transactions", max_transactions)):
        if value is not None and value < 1:
            raise InputError(f"{name}: {value} is not a positive number")
    accounts = sorted(set(labelled))
    digest = hashlib.sha256("\n".join(accounts).encode()).hexdigest()
    folders: dict[Kinds, Path] = {"txlist": folder}
    if internal:
        folders["txlistinternal"] = folder / INTERNAL
    with ExitStack() as stack:
        stores = {kind: stack.enter_context(Store(path, seed, digest, api.chain)) for kind, path in folders.items()}
        fetch = partial(_fetch, api, stores, max_transactions, on_progress)
        fetch("labelled accounts", accounts[:max_accounts])
        left = None if max_accounts is None else max(0, max_accounts - len(accounts))
        neighbours = [] if left == 0 else _select_neighbours(stores.values(), set(accounts), two_hop, seed)[:left]
        if left != 0:
            fetch("their neighbours", neighbours)
        store, finished = stores["txlist"], stores["txlist"].finished
        return Crawled(
            labelled=(len(finished.intersection(accounts)), len(accounts)),
            neighbours=(len(finished.intersection(neighbours)), len(neighbours)),
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
    limit: int | None,
    on_progress: OnProgress,
    stage: str,
    accounts: list[str],
) -> None:
    """Fetch the accounts that are not finished."""
    finished = set.intersection(*(store.finished for store in stores.values()))
    waiting = [account for account in accounts if account not in finished]
    for done, account in enumerate(waiting, len(accounts) - len(waiting)):
        on_progress(stage, done, len(accounts))
        for kind, store in stores.items():
            if account in store.finished:
                continue
            cursor, fetched = store.position(account)
            for page, next_cursor in api.pages(account, cursor, kind):
                fetched += len(page)
                cut = limit is not None and fetched >= limit and next_cursor is not None
                store.add(account, page, None if cut else next_cursor, cut=cut)
                if cut:
                    break
    on_progress(stage, len(accounts), len(accounts))


def _select_neighbours(stores: Iterable[Store], labelled: set[str], two_hop: float, seed: int) -> list[str]:
    """Return the neighbours of labelled accounts to fetch, in the order of their numbers."""
    key = Key.of(seed).fold("two-hop")
    numbers: dict[str, float] = {}
    for record in (record for store in stores for record in store.records()):
        ends = record["from"].lower(), record["to"].lower()
        for account, other in (ends, ends[::-1]):
            if account in labelled and other not in labelled and is_address(other):
                numbers[other] = draw(other, key)
    return sorted((address for address in numbers if numbers[address] < two_hop), key=numbers.__getitem__)
