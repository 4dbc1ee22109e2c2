"""A simulated Ethereum: transactions of agents that behave like the paper's six classes, and the labels of some.

The paper's data were never published. The simulation replaces them in size and shape, so that the whole workflow can be
tried and timed; a figure measured on it says something about the simulation only. The file is marked as simulated in
its metadata. Not modelled: an account may spend more than it received, as in a crawl
of a part of the chain; there are no token transfers and no internal transactions.

Accounts are numbered from 0; users by the second in which they first appear. Older users are more active, and every
user has one of eight interests, so that services of one class share customers. Every behaviour takes the ``World`` and
yields ``Transfers``. Classes overlap on purpose: services differ more in size, age and typical amount within a class
than between classes, and many did almost nothing. Such accounts differ only in whom they deal with.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mggcn._io import regular
from mggcn._io.files import check_file
from mggcn._io.temporary import temporary_file
from mggcn.errors import InputError, require
from mggcn.ethereum._label_lists import write_csv
from mggcn.keys import Key, fold_each

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

START = 1_451_606_400  # 2016-01-01
END = 1_593_561_600  # 2020-07-01
HOUR, DAY = 3_600, 86_400
GWEI = 10**9  # per ether
FEE = 420_000  # gwei: 21,000 gas at 20 gwei
NO_RECEIVER = -1  # the receiver of a contract creation

CLASSES = {"ICO": 172, "Converter": 211, "Exchange": 232, "Mining": 62, "Gambling": 29, "Phish": 110}
"""Labelled accounts at scale 1: 816, as in the paper; five counts are those of Etherscan's labels in July 2020."""

_LEAST = 10  # labelled accounts of every class at small scales, so that each part of a 7:1:2 split has all classes
_AROUND = {"converter hub": 3, "bot": 240, "sale contract": 60, "gambling wallet": 29, "dapp": 2_500, "mule": 900}
_DEPOSITS, _USERS = 285_000, 1_113_000
_ACTIVITY = 2.6  # gives users a degree distribution with an exponent near 2.6
_GROWTH = 2.0  # the number of users grows with the square of time
_COLD, _SPLIT = 0.25, 0.2  # shares of exchange accounts: cold wallets; those that only collect, and that only pay
_INTERESTS, _LOYAL = 8, 0.75
_CANDIDATES = 6
INVESTING, TRADING, MINING, BETTING, TRUSTING = range(5)
"""The interests of users that belong to a class; the other three belong to none."""
_CASH_OUTS, _HOPS = 12, 3  # of a phishing account, about
_LEAST_SCALE, _LARGEST_SCALE = 0.001, 100.0
_SUFFIXES = (".parquet", ".pq")
_FIRST_BLOCK, _BLOCK_SECONDS = 778_483, 14  # the first block of 2016; the mean time per block then
_TRANSFER_GAS = 21_000


class Transfers(NamedTuple):
    """Transactions of one kind, or all of them: the sending and receiving accounts, values and times."""

    source: Ints
    target: Ints  # or NO_RECEIVER
    gwei: Ints  # the value without its last nine digits
    second: Ints
    call: bool | NDArray[np.bool_] = False  # whether they call a contract


@dataclass(frozen=True)
class Lifetimes:
    """When the services of a class open and close, and the typical amount of each in ether."""

    first: Ints
    last: Ints
    amount: Floats


@dataclass(frozen=True)
class Visits(Lifetimes):
    """Visits of users to services, with the service, user and second of each; some users return."""

    service: Ints
    user: Ints
    second: Ints

    def random_subset(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Mark some visits: very few of some services, and most of others."""
        return rng.random(self.service.size) < rng.beta(0.4, 1.6, self.first.size)[self.service]


@dataclass(frozen=True)
class World:
    """The accounts of a simulated chain, and the random numbers of a behaviour."""

    scale: float
    rng: np.random.Generator
    groups: dict[str, Ints]  # account numbers by kind: the classes, the accounts around them, ``deposit`` and ``user``
    births: Ints  # the second in which each user first appears, in the order of their numbers
    collectors: Ints  # for each exchange, the account to which deposits are moved
    payers: Ints  # for each exchange, the account that pays withdrawals; often the same one
    vaults: Ints  # for each exchange, its cold wallet
    owners: Ints  # for each deposit address, its exchange
    popularity: Floats  # for each exchange, its share of the customers
    exchanges: Lifetimes

    @classmethod
    def draw(cls, scale: float, key: Key) -> "World":
        """Draw the accounts of a chain at ``scale``."""
        rng = key.fold("accounts").generator()
        sizes = {name: max(_LEAST, round(count * scale)) for name, count in CLASSES.items()}
        sizes |= {name: max(2, round(count * scale)) for name, count in _AROUND.items()}
        sizes |= {"deposit": round(_DEPOSITS * scale), "user": round(_USERS * scale)}
        ends = np.cumsum(list(sizes.values())).tolist()
        groups = {name: np.arange(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}
        age = ((np.arange(sizes["user"]) + 0.5) / sizes["user"]) ** (1 / _GROWTH)
        wallets = groups["Exchange"]
        cold, split = round(_COLD * wallets.size), round(_SPLIT * wallets.size)
        vaults, rest = wallets[:cold], wallets[cold:]
        collectors = np.concatenate([rest[:split], rest[2 * split :]])
        payers = np.concatenate([rest[split : 2 * split], rest[2 * split :]])
        popularity = rng.lognormal(0, 2.2, collectors.size)
        popularity /= popularity.sum()
        return cls(
            scale=scale,
            rng=rng,
            groups=groups,
            births=START + (age * (END - START)).astype(np.int64),
            collectors=collectors,
            payers=payers,
            vaults=vaults[np.arange(collectors.size) % cold],
            owners=rng.choice(collectors.size, sizes["deposit"], p=popularity),
            popularity=popularity,
            exchanges=draw_lifetimes(key.fold("desks").generator(), popularity.size, 300),
        )

    @property
    def total(self) -> int:
        """The number of accounts."""
        return int(self.groups["user"][-1]) + 1

    def users(self, seconds: Ints, interest: int | None = None) -> Ints:
        """Draw a user for each of ``seconds`` among those that have appeared; three in four have the interest."""
        born = np.searchsorted(self.births, seconds, side="right")
        position = (born * self.rng.random(born.shape) ** _ACTIVITY).astype(np.int64)
        if interest is not None:
            interested = position - position % _INTERESTS + interest
            position = np.where((self.rng.random(position.shape) < _LOYAL) & (interested < born), interested, position)
        return self.groups["user"][position]

    def scaled(self, count: int) -> int:
        """Convert a count at scale 1 to this scale."""
        return max(1, round(count * self.scale))

    def ether(self, median: float | Floats, count: int, spread: float = 1.4) -> Ints:
        """Draw amounts in gwei around a median in ether; two in five are rounded, as people type them."""
        gwei = (np.asarray(median) * self.rng.lognormal(0, spread, count) * GWEI).astype(np.int64)
        typed = self.rng.random(count) < 0.4
        return np.where(typed, np.maximum(gwei // 10**7, 1) * 10**7, gwei)

    def waits(self, mean: float, count: int) -> Ints:
        """Draw waiting times in seconds."""
        return self.rng.exponential(mean, count).astype(np.int64) + 1

    def seconds(self, count: int) -> Ints:
        """Draw ``count`` seconds, at scale 1, from the whole period; later ones are likelier, as traffic grew."""
        return START + (np.sqrt(self.rng.random(self.scaled(count))) * (END - START)).astype(np.int64)

    def seconds_between(self, first: Ints, last: Ints) -> Ints:
        """Draw a second from each interval."""
        return first + (self.rng.random(first.size) * (last - first)).astype(np.int64)

    def visits(
        self,
        name: str,
        interest: int,
        *,
        total: int,  # pairs of a user and a service at scale 1
        days: float,  # the typical lifetime of a service
        repeats: tuple[float, float],  # the range of a service's probability that a visit is the user's last
        gap: float = 3.0,  # days between two visits of a user
        early: float | None = None,  # the part of a service's life until two in three have come; None: evenly spread
    ) -> Visits:
        """Draw the visits of users with an interest to the services of a class."""
        rng, services = self.rng, self.groups[name]
        life = draw_lifetimes(rng, services.size, days)
        share = rng.lognormal(0, 2.0, services.size)
        users_of = np.maximum(2, np.rint(share / share.sum() * self.scaled(total))).astype(np.int64)
        pair = np.repeat(np.arange(services.size), users_of)
        when = rng.random(pair.size) if early is None else np.minimum(rng.exponential(early, pair.size), 1.0)
        joined = life.first[pair] + (when * (life.last - life.first)[pair]).astype(np.int64)
        user = self.users(joined, interest)
        counts = rng.geometric(rng.uniform(*repeats, services.size)[pair])
        visit = np.repeat(np.arange(pair.size), counts)
        number = np.arange(visit.size) - np.repeat(np.cumsum(counts) - counts, counts)
        second = joined[visit] + (number * gap * DAY).astype(np.int64) + rng.integers(0, HOUR, visit.size)
        return Visits(life.first, life.last, life.amount, pair[visit], user[visit], second)

    def sell(self, source: Ints, gwei: Ints, second: Ints) -> Iterator[Transfers]:
        """Sell ether at an exchange: pay to a random deposit address, which is soon emptied."""
        return self.deposit(source, self.rng.integers(self.owners.size, size=source.size), gwei, second)

    def deposit(self, source: Ints, deposit: Ints, gwei: Ints, second: Ints) -> Iterator[Transfers]:
        """Pay to the given deposit addresses, which then pay to their exchanges."""
        address = self.groups["deposit"][deposit]
        collector = self.collectors[self.owners[deposit]]
        yield Transfers(source, address, gwei, second)
        yield Transfers(address, collector, np.maximum(gwei - FEE, 0), second + self.waits(4 * HOUR, second.size))


def draw_lifetimes(rng: np.random.Generator, count: int, days: float) -> Lifetimes:
    """Draw when ``count`` services that live for about ``days`` open and close, and their typical amounts."""
    first = START + 90 * DAY + (rng.random(count) * 0.75 * (END - START)).astype(np.int64)
    length = (days * rng.lognormal(0, 1.0, count) * DAY).astype(np.int64) + DAY
    return Lifetimes(first, np.minimum(first + length, END), rng.lognormal(-0.3, 1.2, count))


def exchanges(world: World) -> Iterator[Transfers]:
    """Customers' deposits, withdrawals, cold storage, and trade between exchanges."""
    rng, open_times = world.rng, world.exchanges
    owner = world.owners
    opened = world.seconds_between(open_times.first[owner], open_times.last[owner])
    holder = world.users(opened)
    deposit = np.repeat(np.arange(opened.size), rng.geometric(0.4, opened.size))
    second = opened[deposit] + world.waits(20 * DAY, deposit.size) * (rng.random(deposit.size) < 0.6)
    gwei = world.ether(open_times.amount[owner[deposit]], deposit.size)
    yield from world.deposit(holder[deposit], deposit, gwei, second)

    exchange = rng.choice(world.payers.size, world.scaled(130_000), p=world.popularity)
    second = world.seconds_between(open_times.first[exchange], open_times.last[exchange])
    customers = world.users(second)
    gwei = world.ether(open_times.amount[exchange], exchange.size)
    yield Transfers(world.payers[exchange], customers, gwei, second)

    counts = np.maximum(2, rng.lognormal(1.5, 1.3, world.collectors.size)).astype(np.int64)
    exchange = np.repeat(np.arange(counts.size), counts)
    second = world.seconds_between(open_times.first[exchange], open_times.last[exchange])
    large = world.ether(6.0 * open_times.amount[exchange], exchange.size)
    collector, payer, vault = world.collectors[exchange], world.payers[exchange], world.vaults[exchange]
    yield Transfers(collector, vault, large, second)
    apart = collector != payer
    yield Transfers(collector[apart], payer[apart], large[apart] // 3, second[apart] + HOUR)
    back = rng.random(exchange.size) < 0.3
    yield Transfers(vault[back], payer[back], large[back] // 2, second[back] + 30 * DAY)
    partner = rng.choice(world.collectors, exchange.size)
    yield Transfers(payer, partner, world.ether(2.0 * open_times.amount[exchange], exchange.size), second)


def icos(world: World) -> Iterator[Transfers]:
    """Many contributions during a sale, refunds, then the sale of the proceeds; some use a contract."""
    rng = world.rng
    wallets, contracts = world.groups["ICO"], world.groups["sale contract"]
    sales = world.visits("ICO", INVESTING, total=250_000, days=60, repeats=(0.5, 1.0), early=0.3)
    has_contract = rng.random(wallets.size) < 0.3
    front = np.where(has_contract, contracts[np.arange(wallets.size) % contracts.size], wallets)
    gwei = world.ether(sales.amount[sales.service], sales.second.size)
    yield Transfers(sales.user, front[sales.service], gwei, sales.second, call=True)

    back = sales.random_subset(rng)
    yield Transfers(front[sales.service[back]], sales.user[back], gwei[back], sales.second[back] + 5 * DAY)
    raised = np.bincount(sales.service, gwei, wallets.size).astype(np.int64)
    service, share = _parts(world, np.flatnonzero(has_contract), raised, 4.0)
    yield Transfers(front[service], wallets[service], share, sales.last[service] + world.waits(5 * DAY, service.size))

    service, share = _parts(world, np.arange(wallets.size), raised, 6.0)
    second = sales.last[service] + world.waits(60 * DAY, service.size)
    team = rng.random(service.size) < 0.5
    yield Transfers(wallets[service[team]], world.users(second[team]), share[team], second[team])
    yield from world.sell(wallets[service[~team]], share[~team], second[~team])


def _parts(world: World, services: Ints, sums: Ints, mean: float) -> tuple[Ints, Ints]:
    """Divide most of each service's sum into about ``mean`` parts; return the service and the amount of each part."""
    counts = 1 + world.rng.poisson(world.rng.gamma(1.2, mean / 1.2, services.size))
    service = np.repeat(services, counts)
    share = sums[service] / np.repeat(counts, counts) * world.rng.random(service.size)
    return service, share.astype(np.int64)


def pools(world: World) -> Iterator[Transfers]:
    """Small periodic payouts to many miners, who sell at exchanges; some pools are paid for their computing power."""
    rng, wallets = world.rng, world.groups["Mining"]
    pay = world.visits("Mining", MINING, total=170_000, days=300, repeats=(0.1, 0.5), gap=7)
    gwei = world.ether(0.5 * pay.amount[pay.service], pay.second.size, 0.5)
    yield Transfers(wallets[pay.service], pay.user, gwei, pay.second)

    sells = rng.random(gwei.size) < 0.05
    later = pay.second[sells] + world.waits(5 * DAY, int(sells.sum()))
    yield from world.sell(pay.user[sells], gwei[sells] * 3, later)
    rents = pay.random_subset(rng)
    yield Transfers(pay.user[rents], wallets[pay.service[rents]], gwei[rents] * 2, pay.second[rents] + DAY)
    refill = np.repeat(np.arange(wallets.size), 1 + rng.poisson(rng.gamma(1.0, 5, wallets.size)))
    second = world.seconds_between(pay.first[refill], pay.last[refill])
    yield Transfers(rng.choice(wallets, refill.size), wallets[refill], world.ether(20.0, refill.size), second)


def casinos(world: World) -> Iterator[Transfers]:
    """Bets, and for winners their bet divided by the odds, less the house's share, within minutes."""
    rng, houses, wallets = world.rng, world.groups["Gambling"], world.groups["gambling wallet"]
    bets = world.visits("Gambling", BETTING, total=50_000, days=200, repeats=(0.15, 0.8), gap=1)
    gwei = world.ether(0.5 * bets.amount[bets.service], bets.second.size)
    yield Transfers(bets.user, houses[bets.service], gwei, bets.second, call=True)

    odds = rng.beta(1.2, 1.8, houses.size) * 0.9 + 0.05
    won = rng.random(gwei.size) < odds[bets.service]
    winner, prize = bets.service[won], (gwei[won] * 0.98 / odds[bets.service[won]]).astype(np.int64)
    yield Transfers(houses[winner], bets.user[won], prize, bets.second[won] + rng.integers(20, 600, prize.size))
    house = np.repeat(np.arange(houses.size), 1 + rng.poisson(6, houses.size))
    second = world.seconds_between(bets.first[house], bets.last[house])
    profit = world.ether(10.0, house.size)
    wallet = wallets[house % wallets.size]
    yield Transfers(houses[house], wallet, profit, second)
    yield from world.sell(wallet, profit, second + DAY)


def converters(world: World) -> Iterator[Transfers]:
    """Steady swaps in both directions with traders, arbitrage bots and the hubs that route between converters."""
    rng, wallets = world.rng, world.groups["Converter"]
    bots, hubs = world.groups["bot"], world.groups["converter hub"]
    swaps = world.visits("Converter", TRADING, total=110_000, days=200, repeats=(0.2, 0.9), gap=10)
    count, kind = swaps.second.size, rng.random(swaps.second.size)
    near = (swaps.service * 7 + (bots.size / 6 * rng.random(count)).astype(np.int64)) % bots.size
    trader = np.where(kind < 0.1, bots[near], np.where(kind > 0.92, hubs[swaps.service % hubs.size], swaps.user))
    ether_in, ether_out = rng.beta(1.2, 1.0, wallets.size), rng.beta(1.2, 1.2, wallets.size)
    median = swaps.amount[swaps.service]
    gwei = world.ether(median, count) * (rng.random(count) < ether_in[swaps.service])
    yield Transfers(trader, wallets[swaps.service], gwei, swaps.second, call=True)

    paid = rng.random(count) < ether_out[swaps.service]
    back = world.ether(median[paid], int(paid.sum()))
    later = swaps.second[paid] + rng.integers(0, 60, back.size)
    yield Transfers(wallets[swaps.service[paid]], trader[paid], back, later)


def phishers(world: World) -> Iterator[Transfers]:
    """Victims' payments, attracted by small gifts, and a quick cash-out through new accounts and an exchange."""
    rng, wallets, mules = world.rng, world.groups["Phish"], world.groups["mule"]
    bait = world.visits("Phish", TRUSTING, total=22_000, days=60, repeats=(0.6, 1.0))
    gwei = world.ether(bait.amount[bait.service], bait.second.size)
    yield Transfers(bait.user, wallets[bait.service], gwei, bait.second)
    gift = bait.random_subset(rng)
    yield Transfers(wallets[bait.service[gift]], bait.user[gift], gwei[gift] // 10, bait.second[gift] - HOUR)

    victims = np.bincount(bait.service, minlength=wallets.size)[bait.service]
    cashed = rng.random(gwei.size) < np.minimum(1.0, _CASH_OUTS / victims)
    phisher, second = bait.service[cashed], bait.second[cashed]
    loot = (gwei * np.maximum(1.0, victims / _CASH_OUTS)).astype(np.int64)[cashed]
    mules_each = max(1, mules.size // wallets.size)
    giver = wallets[phisher]
    for hop in range(_HOPS):
        offset = rng.integers(0, max(1, mules_each - _HOPS), phisher.size)
        taker = mules[(phisher * mules_each + hop + offset) % mules.size]
        second, loot = second + world.waits(5 * HOUR, second.size), np.maximum(loot - FEE, 0)
        goes_on = rng.random(phisher.size) < 0.8
        yield Transfers(giver[goes_on], taker[goes_on], loot[goes_on], second[goes_on])
        yield from world.sell(giver[~goes_on], loot[~goes_on], second[~goes_on])
        phisher, giver, loot, second = phisher[goes_on], taker[goes_on], loot[goes_on], second[goes_on]
    yield from world.sell(giver, loot, second + HOUR)


def ordinary(world: World) -> Iterator[Transfers]:
    """First funding of users, payments between them, contract calls, creations, self-transfers and empty payments."""
    rng = world.rng
    users, births = world.groups["user"], world.births
    exchange = np.full(births.size, -1)  # one that is open at the time, by popularity; -1 if a few draws give none
    for _ in range(_CANDIDATES):
        missing = np.flatnonzero(exchange < 0)
        drawn = rng.choice(world.popularity.size, missing.size, p=world.popularity)
        is_open = (world.exchanges.first[drawn] <= births[missing]) & (births[missing] < world.exchanges.last[drawn])
        exchange[missing[is_open]] = drawn[is_open]
    friend = world.users(births - 1 - rng.integers(0, DAY, users.size))
    bought = (exchange >= 0) & (rng.random(users.size) < 0.7)
    giver = np.where(bought, world.payers[exchange], friend)
    giver[0] = world.payers[0]
    yield Transfers(giver, users, world.ether(1.0, users.size), births)

    second = world.seconds(290_000)
    gwei = world.ether(0.5, second.size) * (rng.random(second.size) > 0.03)
    yield Transfers(world.users(second), world.users(second), gwei, second)

    dapps = world.groups["dapp"]
    second = world.seconds(310_000)
    dapp = dapps[(dapps.size * rng.random(second.size) ** 2.2).astype(np.int64)]
    gwei = world.ether(0.2, second.size) * (rng.random(second.size) < 0.35)
    yield Transfers(world.users(second), dapp, gwei, second, call=True)

    second = world.seconds(9_000)
    creator = world.users(second)
    yield Transfers(creator, np.full_like(second, NO_RECEIVER), np.zeros_like(second), second, call=True)
    yield Transfers(creator, creator, world.ether(0.1, second.size), second + DAY)


BEHAVIOURS: dict[str, Callable[[World], Iterator[Transfers]]] = {
    behaviour.__name__: behaviour for behaviour in (exchanges, icos, pools, casinos, converters, phishers, ordinary)
}
"""The behaviours by name; the random numbers of each depend on its name."""


@dataclass(frozen=True)
class Simulation:
    """The size of a simulated chain."""

    transactions: int
    accounts: int
    edges: int  # pairs of different accounts with a transaction
    labels: dict[str, int]  # the number of labelled accounts of each class


def simulate(
    out: Path,
    *,
    labels: Path,
    scale: float = 1.0,
    seed: int = 0,
    overwrite: bool = False,
    slice_rows: int = 200_000,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Simulation:
    """Write simulated transactions and labels.

    Args:
        out: a Parquet file, named .parquet or .pq, with those columns of ethereum-etl's transactions and receipts that
            a build reads.
        labels: the CSV file of labelled accounts, with the columns ``address`` and ``label``.
        scale: 1 is the size of the paper's data: 1.4 million accounts, 2.8 million edges, 816 labels.
        seed: the same seed and scale give the same rows.
        overwrite: replace existing files.
        slice_rows: the number of rows written at a time; it limits the memory and does not change the file's rows.
        on_progress: called with the number of rows written and their total.
    """
    require("pyarrow", "ethereum")
    import pyarrow.parquet as pq

    if out.suffix.lower() not in _SUFFIXES:
        raise InputError(f"{out}: transactions are written as Parquet, to a file named {' or '.join(_SUFFIXES)}")
    if regular.real(labels) == regular.real(out):
        raise InputError(f"{labels}: transactions and labels cannot be one file")
    for path in (out, labels):
        check_file(path, overwrite=overwrite)
    if not _LEAST_SCALE <= scale <= _LARGEST_SCALE:
        raise InputError(f"scale: {scale} is not between {_LEAST_SCALE} and {_LARGEST_SCALE:g}")
    key = Key.of(seed).fold("ethereum")
    world = World.draw(scale, key)
    parts: list[Transfers] = []
    for name, behaviour in BEHAVIOURS.items():
        parts += behaviour(replace(world, rng=key.fold(name).generator()))
    chain = _in_order(parts)
    key = key.fold("rows")
    addresses = _bytes(key.fold("address"), np.arange(world.total), 20)
    num_rows = chain.second.size
    note = f"not real transactions: mggcn ethereum simulate, scale {scale:g}, seed {seed}"
    schema = table(chain, key, addresses, 0, 0).schema.with_metadata({"simulation": note})
    out.parent.mkdir(parents=True, exist_ok=True)
    with temporary_file(out) as temporary:
        with pq.ParquetWriter(temporary, schema, compression="zstd") as file:
            for first in range(0, num_rows, slice_rows):
                last = min(first + slice_rows, num_rows)
                file.write_table(table(chain, key, addresses, first, last).cast(schema))
                on_progress(last, num_rows)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        labelled = [
            (address, name) for name in CLASSES for address in hex_text(addresses[world.groups[name]]).to_pylist()
        ]
        write_csv(labels, ("address", "label"), labelled)
        temporary.replace(out)
    between = (chain.target != NO_RECEIVER) & (chain.target != chain.source)
    ends = np.sort([chain.source[between], chain.target[between]], axis=0)
    num_pairs = np.unique(ends[0] * world.total + ends[1]).size
    return Simulation(num_rows, world.total, num_pairs, {name: world.groups[name].size for name in CLASSES})


def _in_order(parts: list[Transfers]) -> Transfers:
    """Return transfers by time, without those after the end; transfers of one second keep their order."""
    calls = [np.full(part.second.size, part.call) for part in parts]
    source, target, gwei, second = (
        np.concatenate(columns) for columns in zip(*(part[:4] for part in parts), strict=True)
    )
    order = np.argsort(second, kind="stable")
    order = order[second[order] < END]
    return Transfers(source[order], target[order], gwei[order], second[order], np.concatenate(calls)[order])


def table(chain: Transfers, key: Key, addresses: NDArray[np.uint8], first: int, last: int) -> Any:
    """Return the rows ``first`` to ``last - 1`` with those columns of ethereum-etl that a build reads."""
    import pyarrow as pa
    import pyarrow.compute as pc

    part, numbers = slice(first, last), np.arange(first, last)
    source, target, gwei, second, call = (np.asarray(column)[part] for column in chain)
    block = (second - START) // _BLOCK_SECONDS
    creation = target == NO_RECEIVER
    gas, price, fails, dust = (_draws(key.fold(name), numbers) for name in ("gas", "price", "fails", "dust"))
    used = np.where(call, _TRANSFER_GAS + (gas**3 * 300_000).astype(np.int64), _TRANSFER_GAS)
    failed = fails < np.where(call, 0.035, 0.004)
    typed = gwei % 10_000 == 0  # by a person: no digits below
    wei = np.where(typed, 0, (dust * 10**9).astype(np.int64))
    whole = pc.multiply(pa.array(gwei).cast(pa.decimal128(19, 0)), pa.scalar(Decimal(10**9), pa.decimal128(10, 0)))
    receivers = hex_text(addresses[np.where(creation, 0, target)])
    columns = {
        "hash": hex_text(_bytes(key.fold("hash"), numbers, 32)),
        "block_number": _FIRST_BLOCK + block,
        "from_address": hex_text(addresses[source]),
        "to_address": pc.if_else(pa.array(~creation), receivers, pa.scalar(None, pa.string())),
        "value": pc.add(whole, pa.array(wei).cast(pa.decimal128(19, 0))).cast(pa.decimal128(38, 0)),
        "gas_price": (np.exp(2.3 + 0.9 * (price + gas - 1)) * 1e9).astype(np.int64),
        "block_timestamp": START + block * _BLOCK_SECONDS,
        "receipt_gas_used": np.where(failed & call, used + used // 4, used),  # all that it was given if it failed
        "receipt_status": 1 - failed.astype(np.int64),
    }
    return pa.table({name: pa.array(column) for name, column in columns.items()})


def _draws(key: Key, numbers: Ints) -> Floats:
    """Return a number in [0, 1) for each row."""
    return (fold_each(key.value, numbers) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _bytes(key: Key, numbers: Ints, width: int) -> NDArray[np.uint8]:
    """Return ``width`` random bytes for each number."""
    words = numbers[:, None] * -(-width // 8) + np.arange(-(-width // 8))
    return fold_each(key.value, words).astype("<u8").view(np.uint8)[:, :width]


def hex_text(rows: NDArray[np.uint8]) -> Any:
    """Return rows of bytes as an Arrow array of 0x and hexadecimal digits."""
    import pyarrow as pa

    digits = np.frombuffer(rows.tobytes().hex().encode(), f"S{2 * rows.shape[1]}")
    return pa.array(np.char.add(b"0x", digits)).cast(pa.string())
