"""What behaviours are made of: amounts, waiting times, lives of services, and customers who meet them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mggcn.ethereum.simulate_accounts import DAY, END, HOUR, START, Accounts, Floats, Ints

GWEI = 10**9  # in an ether
FEE = 420_000  # gwei: 21,000 gas at 20 gwei
NOWHERE = -1
"""The receiver of a contract creation."""
_CANDIDATES = 6


@dataclass(frozen=True)
class Transfers:
    """Transactions of one kind.

    Args:
        source: the sending accounts.
        target: the receiving accounts, or :data:`NOWHERE`.
        gwei: what each sends.
        second: when each is sent.
        call: whether they call a contract.
    """

    source: Ints
    target: Ints
    gwei: Ints
    second: Ints
    call: bool = False


@dataclass(frozen=True)
class Lives:
    """When services of a class open and close, and the sums in ether that they are used to."""

    first: Ints
    last: Ints
    taste: Floats

    def open_at(self, seconds: Ints, fame: Floats, rng: np.random.Generator) -> Ints:
        """A service that is open at each of ``seconds``, by fame, or -1 where none was found in a few tries."""
        found = np.full(seconds.size, -1)
        for _ in range(_CANDIDATES):
            rest = np.flatnonzero(found < 0)
            service = rng.choice(fame.size, rest.size, p=fame)
            serves = (self.first[service] <= seconds[rest]) & (seconds[rest] < self.last[service])
            found[rest[serves]] = service[serves]
        return found


@dataclass(frozen=True)
class Meetings(Lives):
    """Users who come to services, some of them again and again.

    Args:
        service: by event, which service.
        user: by event, which user.
        second: by event, when.
    """

    service: Ints
    user: Ints
    second: Ints

    def sometimes(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Mark some events, of one service hardly any and of another most."""
        return rng.random(self.service.size) < rng.beta(0.4, 1.6, self.first.size)[self.service]


class Scene:
    """What a behaviour draws from.

    Args:
        accounts: who there is.
        desks: when exchanges open and close.
        scale: of the simulation.
        rng: the behaviour's own random numbers.
    """

    def __init__(self, accounts: Accounts, desks: Lives, scale: float, rng: np.random.Generator) -> None:
        self.accounts, self.desks, self.scale, self.rng = accounts, desks, scale, rng

    def group(self, name: str) -> Ints:
        """The account numbers of a kind."""
        return self.accounts.groups[name]

    def some(self, count: int) -> int:
        """A count at scale 1 as one at this scale."""
        return max(1, round(count * self.scale))

    def ether(self, median: float | Floats, count: int, spread: float = 1.4) -> Ints:
        """Amounts around a median in ether, as gwei; two in five are as round as people type them."""
        gwei = (np.asarray(median) * self.rng.lognormal(0, spread, count) * GWEI).astype(np.int64)
        typed = self.rng.random(count) < 0.4
        return np.where(typed, np.maximum(gwei // 10**7, 1) * 10**7, gwei)

    def waits(self, mean: float, count: int) -> Ints:
        """Waiting times in seconds."""
        return self.rng.exponential(mean, count).astype(np.int64) + 1

    def moments(self, count: int) -> Ints:
        """Seconds over the whole time, later ones likelier, as traffic grew."""
        return START + (np.sqrt(self.rng.random(count)) * (END - START)).astype(np.int64)

    def between(self, first: Ints, last: Ints) -> Ints:
        """A second from each span."""
        return first + (self.rng.random(first.size) * (last - first)).astype(np.int64)

    def meetings(
        self,
        name: str,
        taste: int,
        *,
        total: int,
        days: float,
        repeats: tuple[float, float],
        gap: float = 3.0,
        early: float | None = None,
    ) -> Meetings:
        """Draw who meets the services of a class, and when.

        Args:
            name: the class.
            taste: of the users who come.
            total: how many pairs of a user and a service there are at scale 1.
            days: how long a service lives, about.
            repeats: the range from which a service's chance that a visit is a user's last is drawn.
            gap: days between two visits.
            early: the part of a service's life after which two in three users have come; evenly if None.
        """
        rng, services = self.rng, self.group(name)
        life = lives(rng, services.size, days)
        share = rng.lognormal(0, 2.0, services.size)
        crowd = np.maximum(2, np.rint(share / share.sum() * self.some(total))).astype(np.int64)
        pair = np.repeat(np.arange(services.size), crowd)
        when = rng.random(pair.size) if early is None else np.minimum(rng.exponential(early, pair.size), 1.0)
        joined = life.first[pair] + (when * (life.last - life.first)[pair]).astype(np.int64)
        user = self.accounts.users(rng, joined, taste)
        visits = rng.geometric(rng.uniform(*repeats, services.size)[pair])
        event = np.repeat(np.arange(pair.size), visits)
        number = np.arange(event.size) - np.repeat(np.cumsum(visits) - visits, visits)
        second = joined[event] + (number * gap * DAY).astype(np.int64) + rng.integers(0, HOUR, event.size)
        return Meetings(life.first, life.last, life.taste, pair[event], user[event], second)

    def through_deposits(self, source: Ints, gwei: Ints, second: Ints) -> Iterator[Transfers]:
        """Sell at an exchange: pay to a deposit address, which is soon swept."""
        yield from self.swept(source, self.rng.integers(self.accounts.owners.size, size=source.size), gwei, second)

    def swept(self, source: Ints, place: Ints, gwei: Ints, second: Ints) -> Iterator[Transfers]:
        """Payments to the deposit addresses ``place`` and the sweeps that follow."""
        address = self.group("deposit")[place]
        collector = self.accounts.collectors[self.accounts.owners[place]]
        yield Transfers(source, address, gwei, second)
        yield Transfers(address, collector, np.maximum(gwei - FEE, 0), second + self.waits(4 * HOUR, second.size))


def lives(rng: np.random.Generator, count: int, days: float) -> Lives:
    """When ``count`` services that live for about ``days`` open and close, and their taste for money."""
    first = START + 90 * DAY + (rng.random(count) * 0.75 * (END - START)).astype(np.int64)
    length = (days * rng.lognormal(0, 1.0, count) * DAY).astype(np.int64) + DAY
    return Lives(first, np.minimum(first + length, END), rng.lognormal(-0.3, 1.2, count))
