"""How the accounts of a simulated chain behave: six kinds of service and the ordinary users around them.

Every behaviour takes the :class:`Scene` and yields :class:`Transfers`. Classes overlap on purpose: services of all
classes differ more in size, age and taste for money among themselves than between classes, a cold wallet of an
exchange and the vault of an ICO both sleep on large sums, and many a service did almost nothing. What tells such
accounts apart is whom they deal with.
"""

from collections.abc import Callable, Iterator

import numpy as np

from mggcn.ethereum.simulate_accounts import (
    BETTING,
    DAY,
    HOUR,
    INVESTING,
    MINING,
    TRADING,
    TRUSTING,
    Ints,
)
from mggcn.ethereum.simulate_scene import FEE, NOWHERE, Scene, Transfers

_CASH_OUTS, _HOPS = 12, 3  # of a phishing account, about


def exchanges(scene: Scene) -> Iterator[Transfers]:
    """Customers' deposits and their sweeps, withdrawals, cold storage, and trade between exchanges."""
    accounts, rng, desks = scene.accounts, scene.rng, scene.desks
    owner = accounts.owners
    opened = scene.between(desks.first[owner], desks.last[owner])
    holder = accounts.users(rng, opened)
    place = np.repeat(np.arange(opened.size), rng.geometric(0.4, opened.size))
    second = opened[place] + scene.waits(20 * DAY, place.size) * (rng.random(place.size) < 0.6)
    gwei = scene.ether(desks.taste[owner[place]], place.size)
    yield from scene.swept(holder[place], place, gwei, second)

    desk = rng.choice(accounts.payers.size, scene.some(130_000), p=accounts.fame)
    second = scene.between(desks.first[desk], desks.last[desk])
    customers = accounts.users(rng, second)
    yield Transfers(accounts.payers[desk], customers, scene.ether(desks.taste[desk], desk.size), second)

    flows = np.maximum(2, rng.lognormal(1.5, 1.3, accounts.collectors.size)).astype(np.int64)
    desk = np.repeat(np.arange(flows.size), flows)
    second = scene.between(desks.first[desk], desks.last[desk])
    large = scene.ether(6.0 * desks.taste[desk], desk.size)
    collector, payer, vault = accounts.collectors[desk], accounts.payers[desk], accounts.vaults[desk]
    yield Transfers(collector, vault, large, second)
    apart = collector != payer
    yield Transfers(collector[apart], payer[apart], large[apart] // 3, second[apart] + HOUR)
    back = rng.random(desk.size) < 0.3
    yield Transfers(vault[back], payer[back], large[back] // 2, second[back] + 30 * DAY)
    yield Transfers(
        payer, rng.choice(accounts.collectors, desk.size), scene.ether(2.0 * desks.taste[desk], desk.size), second
    )


def icos(scene: Scene) -> Iterator[Transfers]:
    """A burst of contributions in a sale window, refunds, then the sale of the proceeds; some use a contract."""
    accounts, rng = scene.accounts, scene.rng
    wallets, contracts = scene.group("ICO"), scene.group("sale contract")
    sales = scene.meetings("ICO", INVESTING, total=250_000, days=60, repeats=(0.5, 1.0), early=0.3)
    fronted = rng.random(wallets.size) < 0.3
    front = np.where(fronted, contracts[np.arange(wallets.size) % contracts.size], wallets)
    gwei = scene.ether(sales.taste[sales.service], sales.second.size)
    yield Transfers(sales.user, front[sales.service], gwei, sales.second, call=True)

    back = sales.sometimes(rng)
    yield Transfers(front[sales.service[back]], sales.user[back], gwei[back], sales.second[back] + 5 * DAY)
    raised = np.bincount(sales.service, gwei, wallets.size).astype(np.int64)
    part, share = _parts(scene, np.flatnonzero(fronted), raised, 4.0)
    yield Transfers(front[part], wallets[part], share, sales.last[part] + scene.waits(5 * DAY, part.size))

    part, share = _parts(scene, np.arange(wallets.size), raised, 6.0)
    second = sales.last[part] + scene.waits(60 * DAY, part.size)
    team = rng.random(part.size) < 0.5
    yield Transfers(wallets[part[team]], accounts.users(rng, second[team]), share[team], second[team])
    yield from scene.through_deposits(wallets[part[~team]], share[~team], second[~team])


def _parts(scene: Scene, services: Ints, sums: Ints, mean: float) -> tuple[Ints, Ints]:
    """Cut most of each service's sum into about ``mean`` parts: the services, each as often as it has parts."""
    counts = 1 + scene.rng.poisson(scene.rng.gamma(1.2, mean / 1.2, services.size))
    service = np.repeat(services, counts)
    share = sums[service] / np.repeat(counts, counts) * scene.rng.random(service.size)
    return service, share.astype(np.int64)


def pools(scene: Scene) -> Iterator[Transfers]:
    """Small periodic payouts to many miners, who sell at exchanges; some pools are paid for their power."""
    rng, wallets = scene.rng, scene.group("Mining")
    pay = scene.meetings("Mining", MINING, total=170_000, days=300, repeats=(0.1, 0.5), gap=7)
    gwei = scene.ether(0.5 * pay.taste[pay.service], pay.second.size, 0.5)
    yield Transfers(wallets[pay.service], pay.user, gwei, pay.second)

    sells = rng.random(gwei.size) < 0.05
    later = pay.second[sells] + scene.waits(5 * DAY, int(sells.sum()))
    yield from scene.through_deposits(pay.user[sells], gwei[sells] * 3, later)
    rents = pay.sometimes(rng)
    yield Transfers(pay.user[rents], wallets[pay.service[rents]], gwei[rents] * 2, pay.second[rents] + DAY)
    refill = np.repeat(np.arange(wallets.size), 1 + rng.poisson(rng.gamma(1.0, 5, wallets.size)))
    second = scene.between(pay.first[refill], pay.last[refill])
    yield Transfers(rng.choice(wallets, refill.size), wallets[refill], scene.ether(20.0, refill.size), second)


def casinos(scene: Scene) -> Iterator[Transfers]:
    """Bets in, and for the lucky their bet over the odds less the house's edge out within minutes."""
    rng, houses, purses = scene.rng, scene.group("Gambling"), scene.group("gambling wallet")
    bets = scene.meetings("Gambling", BETTING, total=50_000, days=200, repeats=(0.15, 0.8), gap=1)
    gwei = scene.ether(0.5 * bets.taste[bets.service], bets.second.size)
    yield Transfers(bets.user, houses[bets.service], gwei, bets.second, call=True)

    odds = rng.beta(1.2, 1.8, houses.size) * 0.9 + 0.05
    won = rng.random(gwei.size) < odds[bets.service]
    prize = (gwei[won] * 0.98 / odds[bets.service[won]]).astype(np.int64)
    yield Transfers(
        houses[bets.service[won]], bets.user[won], prize, bets.second[won] + rng.integers(20, 600, prize.size)
    )
    taken = np.repeat(np.arange(houses.size), 1 + rng.poisson(6, houses.size))
    second = scene.between(bets.first[taken], bets.last[taken])
    profit = scene.ether(10.0, taken.size)
    yield Transfers(houses[taken], purses[taken % purses.size], profit, second)
    yield from scene.through_deposits(purses[taken % purses.size], profit, second + DAY)


def converters(scene: Scene) -> Iterator[Transfers]:
    """Steady swaps in both directions with traders, arbitrage bots and the hubs that route between converters."""
    rng, wallets = scene.rng, scene.group("Converter")
    bots, hubs = scene.group("bot"), scene.group("converter hub")
    swaps = scene.meetings("Converter", TRADING, total=110_000, days=200, repeats=(0.2, 0.9), gap=10)
    count, kind = swaps.second.size, rng.random(swaps.second.size)
    near = (swaps.service * 7 + (bots.size / 6 * rng.random(count)).astype(np.int64)) % bots.size
    trader = np.where(kind < 0.1, bots[near], np.where(kind > 0.92, hubs[swaps.service % hubs.size], swaps.user))
    ether_in, ether_out = rng.beta(1.2, 1.0, wallets.size), rng.beta(1.2, 1.2, wallets.size)
    median = swaps.taste[swaps.service]
    gwei = scene.ether(median, count) * (rng.random(count) < ether_in[swaps.service])
    yield Transfers(trader, wallets[swaps.service], gwei, swaps.second, call=True)

    paid = rng.random(count) < ether_out[swaps.service]
    back = scene.ether(median[paid], int(paid.sum()))
    yield Transfers(
        wallets[swaps.service[paid]], trader[paid], back, swaps.second[paid] + rng.integers(0, 60, back.size)
    )


def phishers(scene: Scene) -> Iterator[Transfers]:
    """Victims' payments, lured by small gifts, and a quick cash-out through a few fresh accounts and an exchange."""
    rng, wallets, mules = scene.rng, scene.group("Phish"), scene.group("mule")
    bait = scene.meetings("Phish", TRUSTING, total=22_000, days=60, repeats=(0.6, 1.0))
    gwei = scene.ether(bait.taste[bait.service], bait.second.size)
    yield Transfers(bait.user, wallets[bait.service], gwei, bait.second)
    lured = bait.sometimes(rng)
    yield Transfers(wallets[bait.service[lured]], bait.user[lured], gwei[lured] // 10, bait.second[lured] - HOUR)

    crowd = np.bincount(bait.service, minlength=wallets.size)[bait.service]
    taken = rng.random(gwei.size) < np.minimum(1.0, _CASH_OUTS / crowd)
    own, second = bait.service[taken], bait.second[taken]
    loot = (gwei * np.maximum(1.0, crowd / _CASH_OUTS)).astype(np.int64)[taken]
    fan = max(1, mules.size // wallets.size)
    giver = wallets[own]
    for hop in range(_HOPS):
        taker = mules[(own * fan + hop + rng.integers(0, max(1, fan - _HOPS), own.size)) % mules.size]
        second, loot = second + scene.waits(5 * HOUR, second.size), np.maximum(loot - FEE, 0)
        goes_on = rng.random(own.size) < 0.8
        yield Transfers(giver[goes_on], taker[goes_on], loot[goes_on], second[goes_on])
        yield from scene.through_deposits(giver[~goes_on], loot[~goes_on], second[~goes_on])
        own, giver, loot, second = own[goes_on], taker[goes_on], loot[goes_on], second[goes_on]
    yield from scene.through_deposits(giver, loot, second + HOUR)


def ordinary(scene: Scene) -> Iterator[Transfers]:
    """How users are first funded, pay one another and use contracts; creations, self-transfers and empty payments."""
    accounts, rng = scene.accounts, scene.rng
    users, births = scene.group("user"), accounts.births
    desk = scene.desks.open_at(births, accounts.fame, rng)
    friend = accounts.users(rng, births - 1 - rng.integers(0, DAY, users.size))
    bought = (desk >= 0) & (rng.random(users.size) < 0.7)
    giver = np.where(bought, accounts.payers[desk], friend)
    giver[0] = accounts.payers[0]
    yield Transfers(giver, users, scene.ether(1.0, users.size), births)

    size = scene.some(290_000)
    second = scene.moments(size)
    amount = scene.ether(0.5, size) * (rng.random(size) > 0.03)
    yield Transfers(accounts.users(rng, second), accounts.users(rng, second), amount, second)

    dapps = scene.group("dapp")
    size = scene.some(310_000)
    second = scene.moments(size)
    dapp = dapps[(dapps.size * rng.random(size) ** 2.2).astype(np.int64)]
    amount = scene.ether(0.2, size) * (rng.random(size) < 0.35)
    yield Transfers(accounts.users(rng, second), dapp, amount, second, call=True)

    size = scene.some(9_000)
    second = scene.moments(size)
    maker = accounts.users(rng, second)
    yield Transfers(maker, np.full(size, NOWHERE), np.zeros(size, np.int64), second, call=True)
    yield Transfers(maker, maker, scene.ether(0.1, size), second + DAY)


BEHAVIOURS: dict[str, Callable[[Scene], Iterator[Transfers]]] = {
    behaviour.__name__: behaviour for behaviour in (exchanges, icos, pools, casinos, converters, phishers, ordinary)
}
