"""The accounts of a simulated chain: labelled services, the accounts around them, and ordinary users.

Accounts are numbered from 0. Users are numbered by the second in which they first appear, and older users are more
active, so that :meth:`Accounts.users` draws from a heavy-tailed distribution in which nobody acts before being funded.
Every user has one of eight interests, so that services of one class share customers.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

START = 1_451_606_400  # 2016-01-01
END = 1_593_561_600  # 2020-07-01
HOUR, DAY = 3_600, 86_400

CLASSES = {"ICO": 172, "Converter": 211, "Exchange": 232, "Mining": 62, "Gambling": 29, "Phish": 110}
"""Labelled accounts at scale 1: 816, as in the paper; five counts are those of Etherscan's labels in July 2020."""

_LEAST = 10  # labelled accounts of every class at small scales, so that each part of a 7:1:2 split has all classes
_AROUND = {"converter hub": 3, "bot": 240, "sale contract": 60, "gambling wallet": 29, "dapp": 2_500, "mule": 900}
_DEPOSITS, _USERS = 285_000, 1_113_000
_ACTIVITY = 2.6  # gives users a degree distribution with an exponent near 2.6
_GROWTH = 2.0  # the number of users grows with the square of time
_COLD, _SPLIT = 0.25, 0.2  # shares of exchange accounts: cold wallets; those that only collect, and that only pay
_INTERESTS, _LOYAL = 8, 0.75
INVESTING, TRADING, MINING, BETTING, TRUSTING = range(5)
"""The interests of users that belong to a class; the other three belong to none."""


@dataclass(frozen=True)
class Accounts:
    """The accounts of a simulated chain.

    Args:
        groups: account numbers by kind: the six classes, the accounts around them, ``deposit`` and ``user``.
        collectors: for each exchange, the account to which deposits are moved.
        payers: for each exchange, the account that pays withdrawals; often the same one.
        vaults: for each exchange, its cold wallet.
        owners: for each deposit address, its exchange.
        popularity: for each exchange, its share of the customers.
    """

    groups: dict[str, Ints]
    collectors: Ints
    payers: Ints
    vaults: Ints
    owners: Ints
    popularity: Floats

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
