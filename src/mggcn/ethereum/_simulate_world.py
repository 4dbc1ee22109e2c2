"""What behaviours draw from: amounts, waiting times, lifetimes of services, and the visits of their customers."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mggcn.ethereum._simulate_accounts import DAY, END, HOUR, START, Accounts, Floats, Ints

GWEI = 10**9  # per ether
FEE = 420_000  # gwei: 21,000 gas at 20 gwei
NO_RECEIVER = -1
"""The receiver of a contract creation."""
_CANDIDATES = 6


@dataclass(frozen=True)
class Transfers:
    """Transactions of one kind.

    Args:
        source: the sending accounts.
        target: the receiving accounts, or :data:`NO_RECEIVER`.
        gwei: the values.
        second: the times.
        call: whether they call a contract.
    """

    source: Ints
    target: Ints
    gwei: Ints
    second: Ints
    call: bool = False


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
    """Visits of users to services; some users return.

    Args:
        service: of each visit.
        user: of each visit.
        second: of each visit.
    """

    service: Ints
    user: Ints
    second: Ints

    def random_subset(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Mark some visits: very few of some services, and most of others."""
        return rng.random(self.service.size) < rng.beta(0.4, 1.6, self.first.size)[self.service]


class World:
    """The state that a behaviour draws from.

    Args:
        accounts: all accounts.
        exchanges: when exchanges open and close.
        scale: of the simulation.
        rng: the random numbers of the behaviour.
    """

    def __init__(self, accounts: Accounts, exchanges: Lifetimes, scale: float, rng: np.random.Generator) -> None:
        self.accounts, self.exchanges, self.scale, self.rng = accounts, exchanges, scale, rng

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
        total: int,
        days: float,
        repeats: tuple[float, float],
        gap: float = 3.0,
        early: float | None = None,
    ) -> Visits:
        """Draw the visits to the services of a class.

        Args:
            name: the class.
            interest: of the users who come.
            total: the number of pairs of a user and a service at scale 1.
            days: the typical lifetime of a service.
            repeats: the range of the probability that a visit is the user's last; it is drawn for each service.
            gap: days between two visits of a user.
            early: the part of a service's lifetime after which two in three users have come; None for evenly spread.
        """
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
        yield from self.deposit(source, self.rng.integers(self.accounts.owners.size, size=source.size), gwei, second)

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
