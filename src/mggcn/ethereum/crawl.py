"""The paper's crawl: all transactions of labelled accounts, and those of a random part of their neighbours.

The transactions of a labelled account contain its whole 1-hop neighbourhood. Each neighbour has a number between 0 and
1 that depends only on the seed and its address. Neighbours with a number below ``two_hop`` are fetched too, lowest
first, which adds their part of the 2-hop neighbourhood. The selection therefore does not depend on the order of
fetching, and a crawl can be continued later with a larger part.

Differs from the paper: it took ten neighbours of each labelled account (according to a comment in its source). A part
of all neighbours is proportional to the sizes of the neighbourhoods.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mggcn.errors import InputError
from mggcn.ethereum._crawl_store import Store
from mggcn.ethereum.etherscan import Etherscan, Record
from mggcn.ethereum.label_lists import is_address
from mggcn.keys import Key

OnProgress = Callable[[str, int, int], None]
"""Called with the stage, the number of its accounts that are finished, and their total."""


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
    """

    labelled: tuple[int, int]
    neighbours: tuple[int, int]
    records: int
    cut: int
    calls: int
    retries: int


def crawl(
    api: Etherscan,
    labelled: Iterable[str],
    folder: Path,
    *,
    two_hop: float = 0.1,
    seed: int = 0,
    max_accounts: int | None = None,
    max_transactions: int | None = None,
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
        on_progress: called after every finished account.
    """
    if not 0 <= two_hop <= 1:
        raise InputError(f"two-hop: {two_hop} is not between 0 and 1")
    for name, value in (("max-accounts", max_accounts), ("max-transactions", max_transactions)):
        if value is not None and value < 1:
            raise InputError(f"{name}: {value} is not a positive number")
    accounts = sorted(set(labelled))
    digest = hashlib.sha256("\n".join(accounts).encode()).hexdigest()
    with Store(folder, seed, digest) as store:
        _fetch(api, store, accounts[:max_accounts], max_transactions, "labelled accounts", on_progress)
        neighbours: list[str] = []
        if max_accounts is None or max_accounts > len(accounts):
            limit = None if max_accounts is None else max_accounts - len(accounts)
            neighbours = _select_neighbours(store, set(accounts), two_hop, seed)[:limit]
            _fetch(api, store, neighbours, max_transactions, "their neighbours", on_progress)
        return Crawled(
            labelled=(len(store.finished.intersection(accounts)), len(accounts)),
            neighbours=(len(store.finished.intersection(neighbours)), len(neighbours)),
            records=store.count,
            cut=len(store.cut),
            calls=api.calls,
            retries=api.retries,
        )


def draw(address: str, key: Key) -> float:
    """Return the number between 0 and 1 that decides whether a neighbour is fetched."""
    number = int(address, 16)
    return key.fold(number >> 64, number).value / 2**64


def _fetch(
    api: Etherscan, store: Store, accounts: list[str], limit: int | None, stage: str, on_progress: OnProgress
) -> None:
    """Fetch the accounts that are not finished."""
    waiting = [account for account in accounts if account not in store.finished]
    done = len(accounts) - len(waiting)
    on_progress(stage, done, len(accounts))
    for account in waiting:
        cursor, fetched = store.position(account)
        for page, next_cursor in api.pages(account, cursor):
            fetched += len(page)
            cut = limit is not None and fetched >= limit and next_cursor is not None
            store.add(account, page, None if cut else next_cursor, cut=cut)
            if cut:
                break
        done += 1
        on_progress(stage, done, len(accounts))


def _select_neighbours(store: Store, labelled: set[str], two_hop: float, seed: int) -> list[str]:
    """Return the neighbours of labelled accounts to fetch, in the order of their numbers."""
    key = Key.of(seed).fold("two-hop")
    numbers = {address: draw(address, key) for record in store.records() for address in _neighbours(record, labelled)}
    return sorted((address for address in numbers if numbers[address] < two_hop), key=numbers.__getitem__)


def _neighbours(record: Record, labelled: set[str]) -> Iterator[str]:
    """Yield the other account of a labelled account's transaction, if it is an account."""
    ends = record["from"].lower(), record["to"].lower()
    for account, other in (ends, ends[::-1]):
        if account in labelled and other not in labelled and is_address(other):
            yield other
