"""The world of a simulated chain: its accounts, amounts, waiting times, and the visits of customers to services.

Accounts are numbered from 0. Users are numbered by the second in which they first appear, and older users are more
active, so that :meth:`Accounts.users` draws from a heavy-tailed distribution in which nobody acts before being funded.
Every user has one of eight interests, so that services of one class share customers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

START = 1_451_606_400  # 2016-01-01
END = 1_593_561_600  # 2020-07-01
HOUR, DAY = 3_600, 86_400
GWEI = 10**9  # per ether
FEE = 420_000  # gwei: 21,000 gas at 20 gwei
NO_RECEIVER = -1
"""The receiver of a contract creation."""

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


@dataclass(frozen=True)
class Accounts:
    """The accounts of a simulated chain."""

    groups: dict[str, Ints]  # account numbers by kind: the classes, the accounts around them, ``deposit`` and ``user``
    collectors: Ints  # for each exchange, the account to which deposits are moved
    payers: Ints  # for each exchange, the account that pays withdrawals; often the same one
    vaults: Ints  # for each exchange, its cold wallet
    owners: Ints  # for each deposit address, its exchange
    popularity: Floats  # for each exchange, its share of the customers

    @classmethod
    def draw(cls, scale: float, rng: np.random.Generator) -> "Accounts":
        """Draw the accounts of a chain at ``scale``."""
        sizes = {name: max(_LEAST, round(count * scale)) for name, count in CLASSES.items()}
        sizes |= {name: max(2, round(count * scale)) for name, count in _AROUND.items()}
        sizes |= {"deposit": round(_DEPOSITS * scale), "user": round(_USERS * scale)}
        ends = np.cumsum(list(sizes.values())).tolist()
        groups = {name: np.arange(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}
        wallets = groups["Exchange"]
        cold, split = round(_COLD * wallets.size), round(_SPLIT * wallets.size)
        vaults, rest = wallets[:cold], wallets[cold:]
        collectors = np.concatenate([rest[:split], rest[2 * split :]])
        payers = np.concatenate([rest[split : 2 * split], rest[2 * split :]])
        popularity = rng.lognormal(0, 2.2, collectors.size)
        popularity /= popularity.sum()
        return cls(
            groups=groups,
            collectors=collectors,
            payers=payers,
            vaults=vaults[np.arange(collectors.size) % cold],
            owners=rng.choice(collectors.size, sizes["deposit"], p=popularity),
            popularity=popularity,
        )

    @property
    def total(self) -> int:
        """The number of accounts."""
        return int(self.groups["user"][-1]) + 1

    @cached_property
    def births(self) -> Ints:
        """The second in which each user first appears, in the order of their numbers."""
        count = self.groups["user"].size
        return START + (((np.arange(count) + 0.5) / count) ** (1 / _GROWTH) * (END - START)).astype(np.int64)

    def users(self, rng: np.random.Generator, seconds: Ints, interest: int | None = None) -> Ints:
        """Draw a user for each of ``seconds`` among those that have appeared; three in four have the interest."""
        born = np.searchsorted(self.births, seconds, side="right")
        rank = (born * rng.random(born.shape) ** _ACTIVITY).astype(np.int64)
        if interest is not None:
            interested = rank - rank % _INTERESTS + interest
            rank = np.where((rng.random(rank.shape) < _LOYAL) & (interested < born), interested, rank)
        return self.groups["user"][rank]


@dataclass(frozen=True)
class Transfers:
    """Transactions of one kind: the sending and receiving accounts, values and times."""

    source: Ints
    target: Ints  # or NO_RECEIVER
    gwei: Ints
    second: Ints
    call: bool = False  # whether they call a contract


@dataclass(frozen=True)
class Lifetimes:
    """When the services of a class open and close, and the typical amount of each in ether."""

    first: Ints
    last: Ints
    amount: Floats

    def open_at(self, seconds: Ints, popularity: Floats, rng: np.random.Generator) -> Ints:
        """Draw a service that is open at each of ``seconds``, by popularity; -1 if a few draws give none."""
        services = np.full(seconds.size, -1)
        for _ in range(_CANDIDATES):
            missing = np.flatnonzero(services < 0)
            drawn = rng.choice(popularity.size, missing.size, p=popularity)
            is_open = (self.first[drawn] <= seconds[missing]) & (seconds[missing] < self.last[drawn])
            services[missing[is_open]] = drawn[is_open]
        return services


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
    """What a behaviour draws from."""

    accounts: Accounts
    exchanges: Lifetimes
    scale: float
    rng: np.random.Generator

    def group(self, name: str) -> Ints:
        """Return the account numbers of a kind."""
        return self.accounts.groups[name]

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
        rng, services = self.rng, self.group(name)
        life = draw_lifetimes(rng, services.size, days)
        share = rng.lognormal(0, 2.0, services.size)
        users_of = np.maximum(2, np.rint(share / share.sum() * self.scaled(total))).astype(np.int64)
        pair = np.repeat(np.arange(services.size), users_of)
        when = rng.random(pair.size) if early is None else np.minimum(rng.exponential(early, pair.size), 1.0)
        joined = life.first[pair] + (when * (life.last - life.first)[pair]).astype(np.int64)
        user = self.accounts.users(rng, joined, interest)
        counts = rng.geometric(rng.uniform(*repeats, services.size)[pair])
        visit = np.repeat(np.arange(pair.size), counts)
        number = np.arange(visit.size) - np.repeat(np.cumsum(counts) - counts, counts)
        second = joined[visit] + (number * gap * DAY).astype(np.int64) + rng.integers(0, HOUR, visit.size)
        return Visits(life.first, life.last, life.amount, pair[visit], user[visit], second)

    def sell(self, source: Ints, gwei: Ints, second: Ints) -> Iterator[Transfers]:
        """Sell ether at an exchange: pay to a random deposit address, which is soon emptied."""
        return self.deposit(source, self.rng.integers(self.accounts.owners.size, size=source.size), gwei, second)

    def deposit(self, source: Ints, deposit: Ints, gwei: Ints, second: Ints) -> Iterator[Transfers]:
        """Pay to the given deposit addresses, which then pay to their exchanges."""
        address = self.group("deposit")[deposit]
        collector = self.accounts.collectors[self.accounts.owners[deposit]]
        yield Transfers(source, address, gwei, second)
        yield Transfers(address, collector, np.maximum(gwei - FEE, 0), second + self.waits(4 * HOUR, second.size))


def draw_lifetimes(rng: np.random.Generator, count: int, days: float) -> Lifetimes:
    """Draw when ``count`` services that live for about ``days`` open and close, and their typical amounts."""
    first = START + 90 * DAY + (rng.random(count) * 0.75 * (END - START)).astype(np.int64)
    length = (days * rng.lognormal(0, 1.0, count) * DAY).astype(np.int64) + DAY
    return Lifetimes(first, np.minimum(first + length, END), rng.lognormal(-0.3, 1.2, count))
