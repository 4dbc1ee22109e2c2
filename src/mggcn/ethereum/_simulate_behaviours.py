"""How the accounts of a simulated chain behave: six kinds of services and the ordinary users around them.

Every behaviour takes the ``World`` and yields ``Transfers``. Classes overlap on purpose: services differ more in size,
age and typical amount within a class than between classes, the cold wallet of an exchange and the vault of an ICO both
hold large sums for a long time, and many services did almost nothing. Such accounts differ only in whom they deal with.
"""

from collections.abc import Callable, Iterator

import numpy as np

from mggcn.ethereum._simulate_world import DAY, FEE, HOUR, NO_RECEIVER, Ints, Transfers, World

INVESTING, TRADING, MINING, BETTING, TRUSTING = range(5)
"""The interests of users that belong to a class; the other three belong to none."""
_CASH_OUTS, _HOPS = 12, 3  # of a phishing account, about


def exchanges(world: World) -> Iterator[Transfers]:
    """Customers' deposits, withdrawals, cold storage, and trade between exchanges."""
    accounts, rng, open_times = world.accounts, world.rng, world.exchanges
    owner = accounts.owners
    opened = world.seconds_between(open_times.first[owner], open_times.last[owner])
    holder = accounts.users(rng, opened)
    deposit = np.repeat(np.arange(opened.size), rng.geometric(0.4, opened.size))
    second = opened[deposit] + world.waits(20 * DAY, deposit.size) * (rng.random(deposit.size) < 0.6)
    gwei = world.ether(open_times.amount[owner[deposit]], deposit.size)
    yield from world.deposit(holder[deposit], deposit, gwei, second)

    exchange = rng.choice(accounts.payers.size, world.scaled(130_000), p=accounts.popularity)
    second = world.seconds_between(open_times.first[exchange], open_times.last[exchange])
    customers = accounts.users(rng, second)
    gwei = world.ether(open_times.amount[exchange], exchange.size)
    yield Transfers(accounts.payers[exchange], customers, gwei, second)

    counts = np.maximum(2, rng.lognormal(1.5, 1.3, accounts.collectors.size)).astype(np.int64)
    exchange = np.repeat(np.arange(counts.size), counts)
    second = world.seconds_between(open_times.first[exchange], open_times.last[exchange])
    large = world.ether(6.0 * open_times.amount[exchange], exchange.size)
    collector, payer, vault = accounts.collectors[exchange], accounts.payers[exchange], accounts.vaults[exchange]
    yield Transfers(collector, vault, large, second)
    apart = collector != payer
    yield Transfers(collector[apart], payer[apart], large[apart] // 3, second[apart] + HOUR)
    back = rng.random(exchange.size) < 0.3
    yield Transfers(vault[back], payer[back], large[back] // 2, second[back] + 30 * DAY)
    partner = rng.choice(accounts.collectors, exchange.size)
    yield Transfers(payer, partner, world.ether(2.0 * open_times.amount[exchange], exchange.size), second)


def icos(world: World) -> Iterator[Transfers]:
    """Many contributions during a sale, refunds, then the sale of the proceeds; some use a contract."""
    accounts, rng = world.accounts, world.rng
    wallets, contracts = world.group("ICO"), world.group("sale contract")
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
    yield Transfers(wallets[service[team]], accounts.users(rng, second[team]), share[team], second[team])
    yield from world.sell(wallets[service[~team]], share[~team], second[~team])


def _parts(world: World, services: Ints, sums: Ints, mean: float) -> tuple[Ints, Ints]:
    """Divide most of each service's sum into about ``mean`` parts; return the service and the amount of each part."""
    counts = 1 + world.rng.poisson(world.rng.gamma(1.2, mean / 1.2, services.size))
    service = np.repeat(services, counts)
    share = sums[service] / np.repeat(counts, counts) * world.rng.random(service.size)
    return service, share.astype(np.int64)


def pools(world: World) -> Iterator[Transfers]:
    """Small periodic payouts to many miners, who sell at exchanges; some pools are paid for their computing power."""
    rng, wallets = world.rng, world.group("Mining")
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
    rng, houses, wallets = world.rng, world.group("Gambling"), world.group("gambling wallet")
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
    rng, wallets = world.rng, world.group("Converter")
    bots, hubs = world.group("bot"), world.group("converter hub")
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
    rng, wallets, mules = world.rng, world.group("Phish"), world.group("mule")
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
    accounts, rng = world.accounts, world.rng
    users, births = world.group("user"), accounts.births
    exchange = world.exchanges.open_at(births, accounts.popularity, rng)
    friend = accounts.users(rng, births - 1 - rng.integers(0, DAY, users.size))
    bought = (exchange >= 0) & (rng.random(users.size) < 0.7)
    giver = np.where(bought, accounts.payers[exchange], friend)
    giver[0] = accounts.payers[0]
    yield Transfers(giver, users, world.ether(1.0, users.size), births)

    second = world.seconds(290_000)
    gwei = world.ether(0.5, second.size) * (rng.random(second.size) > 0.03)
    yield Transfers(accounts.users(rng, second), accounts.users(rng, second), gwei, second)

    dapps = world.group("dapp")
    second = world.seconds(310_000)
    dapp = dapps[(dapps.size * rng.random(second.size) ** 2.2).astype(np.int64)]
    gwei = world.ether(0.2, second.size) * (rng.random(second.size) < 0.35)
    yield Transfers(accounts.users(rng, second), dapp, gwei, second, call=True)

    second = world.seconds(9_000)
    creator = accounts.users(rng, second)
    yield Transfers(creator, np.full_like(second, NO_RECEIVER), np.zeros_like(second), second, call=True)
    yield Transfers(creator, creator, world.ether(0.1, second.size), second + DAY)


BEHAVIOURS: dict[str, Callable[[World], Iterator[Transfers]]] = {
    behaviour.__name__: behaviour for behaviour in (exchanges, icos, pools, casinos, converters, phishers, ordinary)
}
"""The behaviours by name; the random numbers of each depend on its name."""
