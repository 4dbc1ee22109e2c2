"""The stages from judged rows to features, each an Ibis expression over the one before.

``rows`` (see :mod:`mggcn.ethereum.rules`) → ``transactions`` without copies → ``accounts`` with their numbers →
``edges``, directed → ``links``, each edge seen from both ends, in the order of a graph's rows → ``features``, one row
an account. Engines make integers and decimals only, so that every engine gives the same rows.
"""

from collections.abc import Mapping

import ibis

from mggcn.ethereum.rules import CHANGED
from mggcn.ethereum.values import WEI, Column, Table, integer, whole

TRANSACTIONS = {
    "src": "string",
    "dst": "string",
    "time": "int64",
    "wei": WEI,
    "fee": WEI,
    "count": "int64",
    "moves": "boolean",
    "copy": "string",
} | dict.fromkeys(CHANGED, "boolean")
ACCOUNTS = {"address": "string", "id": "int64"}
EDGES = {
    "src": "int64",
    "dst": "int64",
    "count": "int64",
    "wei": WEI,
    "largest": WEI,
    "first": "int64",
    "last": "int64",
    "fee": WEI,
}
LINKS = {
    "node": "int64",
    "other": "int64",
    "out_count": "int64",
    "out_wei": WEI,
    "out_first": "int64",
    "out_last": "int64",
    "in_count": "int64",
    "in_wei": WEI,
    "first": "int64",
    "last": "int64",
    "largest": WEI,
    "fee": WEI,
}
FEATURES = {
    "address": "string",
    "id": "int64",
    "balance_wei": WEI,
    "in_degree": "int64",
    "out_degree": "int64",
    "n_counterparties": "int64",
    "in_tx": "int64",
    "out_tx": "int64",
    "in_wei": WEI,
    "out_wei": WEI,
    "fee_wei": WEI,
    "max_wei": WEI,
    "first_time": "int64",
    "last_time": "int64",
}
_SHARD = 4  # characters: of an address 0x and two digits, so 256 shards of much the same size


def transactions(rows: Table) -> Table:
    """The rows that no rule dropped; ``copy`` names the rule for those that repeat another, and is empty for the rest.

    Of rows with one hash that of the highest block stays: where chains met, the longer one won.
    """
    kept = rows.filter(rows.dropped == "")
    columns = [name for name in TRANSACTIONS if name != "copy"]
    unnamed = kept.filter(kept.hash == "").select(*columns, copy=ibis.literal(""))
    named = kept.filter(kept.hash != "")
    order = [named[name].desc() for name in ("block", "time", "moves", "fee", "wei", "src", "dst", "count", *CHANGED)]
    place = ibis.row_number().over(group_by=named.hash, order_by=order)
    older = named.block < named.block.max().over(group_by=named.hash)
    copy = ibis.cases((place == 0, ""), (older, "reorganised"), else_="duplicate")
    return unnamed.union(named.select(*columns, copy=copy)).select(*TRANSACTIONS)


def accounts(transactions: Table) -> Table:
    """Every account of the transactions with its number in the order of names.

    Rows are numbered within shards by the first characters, which engines do in parallel, and shards then follow each
    other: the numbers are those of one sorted list, whatever the engine and however many files there are.
    """
    kept = transactions.filter(transactions.copy == "")
    names = kept.select(address=kept.src).union(kept.select(address=kept.dst), distinct=True)
    names = names.mutate(shard=names.address.substr(0, _SHARD))
    sizes = names.group_by("shard").agg(size=names.count())
    before = sizes.size.sum().over(order_by=sizes.shard, rows=(None, 0))
    starts = sizes.select("shard", start=whole(before) - sizes.size)
    numbered = names.mutate(place=ibis.row_number().over(group_by=names.shard, order_by=names.address))
    joined = numbered.join(starts, "shard")
    return joined.select("address", id=whole(joined.place) + joined.start)


def edges(transactions: Table, accounts: Table) -> Table:
    """One row for each ordered pair of accounts; what moves nothing lies at pairs of an account with itself."""
    kept = transactions.filter(transactions.copy == "")
    sources, targets = accounts.select(src="address", s="id"), accounts.select(dst="address", d="id")
    numbered = kept.join(sources, "src").join(targets, "dst")
    return (
        numbered.group_by(src=numbered.s, dst=numbered.d)
        .agg(
            count=whole(numbered["count"].sum()),
            wei=numbered.wei.sum(),
            largest=numbered.wei.max(),
            first=numbered.time.min(),
            last=numbered.time.max(),
            fee=numbered.fee.sum(),
        )
        .select(*EDGES)
    )


def links(edges: Table) -> Table:
    """Each edge seen from both ends, one row for each pair and end, sorted; 0 where nothing went in a direction."""
    zero, never = ibis.literal(0, type=WEI), ibis.null("int64")
    none = ibis.literal(0, type="int64")
    sent = edges.select(
        node="src",
        other="dst",
        out_count="count",
        out_wei="wei",
        out_first="first",
        out_last="last",
        in_count=none,
        in_wei=zero,
        first="first",
        last="last",
        largest="largest",
        fee="fee",
    )
    arrived = edges.filter(edges.src != edges.dst)
    received = arrived.select(
        node="dst",
        other="src",
        out_count=none,
        out_wei=zero,
        out_first=never,
        out_last=never,
        in_count="count",
        in_wei="wei",
        first="first",
        last="last",
        largest="largest",
        fee=zero,
    )
    both = sent.union(received)
    most = ("out_count", "out_wei", "out_first", "out_last", "in_count", "in_wei", "last", "largest", "fee")
    merged = both.group_by("node", "other").agg(first=both.first.min(), **{name: both[name].max() for name in most})
    times = {name: merged[name].fill_null(0) for name in ("out_first", "out_last")}
    return merged.mutate(**times).select(*LINKS).order_by("node", "other")


def features(links: Table, accounts: Table, balances: Table | None = None) -> Table:
    """One row for each account, in the order of their numbers; ``balances`` (account, balance) replace the computed."""
    pair = links.node != links.other
    zero = ibis.literal(0, type=WEI)

    def total(amount: Column, where: Column) -> Column:
        return amount.sum(where=where).fill_null(zero)

    def number(test: Column) -> Column:
        return whole(test.ifelse(1, 0).cast("int64").sum())

    found = links.group_by("node").agg(
        in_degree=number(pair & (links.in_count > 0)),
        out_degree=number(pair & (links.out_count > 0)),
        n_counterparties=number(pair),
        in_tx=whole(links.in_count.sum()),
        out_tx=whole(links.out_count.sum()),
        in_wei=total(links.in_wei, pair),
        out_wei=total(links.out_wei, pair),
        there=total(links.out_wei, ~pair),
        fee_wei=links.fee.sum(),
        max_wei=links.largest.max(where=pair).fill_null(zero),
        first_time=links.first.min(where=pair).fill_null(0),
        last_time=links.last.max(where=pair).fill_null(0),
    )
    joined = accounts.join(found, accounts.id == found.node)
    joined = joined.mutate(balance_wei=(joined.in_wei - joined.out_wei + joined.there - joined.fee_wei).cast(WEI))
    if balances is not None:
        joined = joined.left_join(balances, joined.address == balances.account)
        joined = joined.mutate(balance_wei=joined.balance.fill_null(joined.balance_wei))
    return joined.select(*FEATURES).order_by("id")


def latest(table: Table, roles: Mapping[str, str], key: Column) -> Table:
    """One row for each ``key``, that of the highest block; columns are called ``joined_`` and their role."""
    block = integer(table[roles["block"]], 18).fill_null(0) if "block" in roles else ibis.literal(0, type=WEI)
    others = {f"joined_{role}": table[name] for role, name in roles.items()}
    named = table.select(joined_key=key, joined_height=block, **others)
    order = [named.joined_height.desc(), *(named[name].cast("string").fill_null("").desc() for name in others)]
    placed = named.mutate(joined_place=ibis.row_number().over(group_by=named.joined_key, order_by=order))
    return placed.filter(placed.joined_place == 0).drop("joined_place", "joined_height")
