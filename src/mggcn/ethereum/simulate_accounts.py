"""Who takes part in a simulated chain: labelled services, the accounts around them, and ordinary users.

Account numbers run through one range. Users are numbered by the second they first appear, and older users are more
active, so that :meth:`Accounts.users` draws a heavy-tailed crowd in which nobody acts before being funded. Every user
has one of eight tastes, so that services of one class share customers.
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
LEAST = 10
"""Labelled accounts that every class keeps at small scales, so that a 7:1:2 split has all classes in all parts."""

_AROUND = {"converter hub": 3, "bot": 240, "sale contract": 60, "gambling wallet": 29, "dapp": 2_500, "mule": 900}
_DEPOSITS, _USERS = 285_000, 1_113_000
_ACTIVITY = 2.6  # users' degrees then fall off with an exponent near 2.6
_GROWTH = 2.0  # the crowd grows with the square of time
_COLD, _SPLIT = 0.25, 0.2  # of exchanges' accounts: vaults; those that only collect, and as many that only pay
_TASTES, _LOYAL = 8, 0.75
INVESTING, TRADING, MINING, BETTING, TRUSTING = range(5)
"""What users are drawn to; the other three tastes belong to no class."""


@dataclass(frozen=True)
class Accounts:
    """The accounts of a simulated chain.

    Args:
        groups: account numbers by kind: the six classes, what surrounds them, ``deposit`` and ``user``.
        collectors: by exchange, the account that deposits are swept to.
        payers: by exchange, the account that pays withdrawals; often the same one.
        vaults: by exchange, its cold wallet.
        owners: by deposit address, the exchange it belongs to.
        fame: by exchange, its share of the customers.
    """

    groups: dict[str, Ints]
    collectors: Ints
    payers: Ints
    vaults: Ints
    owners: Ints
    fame: Floats

    @classmethod
    def of(cls, scale: float, rng: np.random.Generator) -> "Accounts":
        """Draw the accounts of a chain at ``scale``."""
        sizes = {name: max(LEAST, round(count * scale)) for name, count in CLASSES.items()}
        sizes |= {name: max(2, round(count * scale)) for name, count in _AROUND.items()}
        sizes |= {"deposit": round(_DEPOSITS * scale), "user": round(_USERS * scale)}
        ends = np.cumsum(list(sizes.values()))
        groups = {
            name: np.arange(end - size, end) for (name, size), end in zip(sizes.items(), ends.tolist(), strict=True)
        }
        wallets = groups["Exchange"]
        cold, split = round(_COLD * wallets.size), round(_SPLIT * wallets.size)
        vaults, rest = wallets[:cold], wallets[cold:]
        collectors = np.concatenate([rest[:split], rest[2 * split :]])
        payers = np.concatenate([rest[split : 2 * split], rest[2 * split :]])
        fame = rng.lognormal(0, 2.2, collectors.size)
        fame /= fame.sum()
        return cls(
            groups=groups,
            collectors=collectors,
            payers=payers,
            vaults=vaults[np.arange(collectors.size) % cold],
            owners=rng.choice(collectors.size, sizes["deposit"], p=fame),
            fame=fame,
        )

    @property
    def total(self) -> int:
        """How many accounts there are."""
        return int(self.groups["user"][-1]) + 1

    @cached_property
    def births(self) -> Ints:
        """The second at which each user appears, in the order of their numbers."""
        count = self.groups["user"].size
        return START + (((np.arange(count) + 0.5) / count) ** (1 / _GROWTH) * (END - START)).astype(np.int64)

    def users(self, rng: np.random.Generator, seconds: Ints, taste: int | None = None) -> Ints:
        """Draw a user for each of ``seconds`` among those who have appeared by then, three in four of a taste."""
        born = np.searchsorted(self.births, seconds, side="right")
        rank = (born * rng.random(born.shape) ** _ACTIVITY).astype(np.int64)
        if taste is not None:
            alike = rank - rank % _TASTES + taste
            rank = np.where((rng.random(rank.shape) < _LOYAL) & (alike < born), alike, rank)
        return self.groups["user"][rank]
