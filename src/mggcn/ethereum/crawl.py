"""The paper's procedure: all transactions of labelled accounts, and of a random part of the accounts next to them.

The transactions of a labelled account show all of its 1-hop neighbourhood. Each neighbour has a number between 0 and 1
that depends on the seed and its address alone; those below ``two_hop`` are fetched too, the lowest first, which shows
their part of the 2-hop neighbourhood. So the choice does not depend on the order in which accounts were fetched, and a
crawl can be continued with a larger part.

Differs from the paper: it took ten neighbours of each labelled account (says a comment in its source); a part of all of
them follows the sizes of neighbourhoods.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mggcn.errors import InputError
from mggcn.ethereum.crawl_store import Store, Terms
from mggcn.ethereum.etherscan import Etherscan, Record
from mggcn.ethereum.labels_read import is_address
from mggcn.keys import Key

Follow = Callable[[str, int, int], None]
"""Is told the stage, how many of its accounts are finished, and of how many."""


@dataclass(frozen=True)
class Crawled:
    """What a folder holds after a crawl.

    Args:
        labelled: labelled accounts fetched, of how many.
        neighbours: neighbours fetched, of how many chosen.
        records: transactions in the file; one between two fetched accounts stands there twice.
        cut: accounts of which only the first transactions were fetched.
        calls: calls of the API by this process.
        retries: how many of them were tried again.
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
    follow: Follow = lambda _stage, _done, _total: None,
) -> Crawled:
    """Fetch accounts into ``folder``, going on where an earlier call stopped.

    Args:
        api: the API.
        labelled: addresses, in lower case.
        folder: gets ``transactions.jsonl``, which ``mggcn ethereum build`` reads.
        two_hop: the part of the labelled accounts' neighbours that is fetched too.
        seed: of that part.
        max_accounts: the most accounts to fetch in all.
        max_transactions: the most transactions to fetch of one account, to the next full page.
        follow: hears of every finished account.
    """
    if not 0 <= two_hop <= 1:
        raise InputError(f"two-hop: {two_hop} is not between 0 and 1")
    for name, value in (("max-accounts", max_accounts), ("max-transactions", max_transactions)):
        if value is not None and value < 1:
            raise InputError(f"{name}: {value} is not a positive number")
    first = sorted(set(labelled))
    digest = hashlib.sha256("\n".join(first).encode()).hexdigest()
    with Store(folder, Terms(seed, digest)) as store:
        _fetch(api, store, first[:max_accounts], max_transactions, "labelled accounts", follow)
        chosen: list[str] = []
        if max_accounts is None or max_accounts > len(first):
            room = None if max_accounts is None else max_accounts - len(first)
            chosen = _chosen(store, set(first), two_hop, seed)[:room]
            _fetch(api, store, chosen, max_transactions, "their neighbours", follow)
        return Crawled(
            labelled=(len(store.finished.intersection(first)), len(first)),
            neighbours=(len(store.finished.intersection(chosen)), len(chosen)),
            records=store.count,
            cut=len(store.cut),
            calls=api.calls,
            retries=api.retries,
        )


def draw(address: str, key: Key) -> float:
    """The number between 0 and 1 that decides whether a neighbour is fetched."""
    number = int(address, 16)
    return key.fold(number >> 64, number).value / 2**64


def _fetch(api: Etherscan, store: Store, accounts: list[str], most: int | None, stage: str, follow: Follow) -> None:
    """Fetch the accounts that are not finished."""
    waiting = [account for account in accounts if account not in store.finished]
    done = len(accounts) - len(waiting)
    follow(stage, done, len(accounts))
    for account in waiting:
        cursor, fetched = store.begun(account)
        for page, after in api.pages(account, cursor):
            fetched += len(page)
            full = most is not None and fetched >= most and after is not None
            store.add(account, page, None if full else after, cut=full)
            if full:
                break
        done += 1
        follow(stage, done, len(accounts))


def _chosen(store: Store, labelled: set[str], two_hop: float, seed: int) -> list[str]:
    """The neighbours of labelled accounts that are fetched, in the order of their draws."""
    key = Key.of(seed).fold("two-hop")
    draws: dict[str, float] = {}
    for record in store.records():
        for neighbour in _neighbours(record, labelled):
            number = draw(neighbour, key)
            if number < two_hop:
                draws[neighbour] = number
    return sorted(draws, key=draws.__getitem__)


def _neighbours(record: Record, labelled: set[str]) -> Iterator[str]:
    """The other end of a labelled account's transaction, where it is an account."""
    ends = record["from"].lower(), record["to"].lower()
    for one, other in (ends, ends[::-1]):
        if one in labelled and other not in labelled and is_address(other):
            yield other
