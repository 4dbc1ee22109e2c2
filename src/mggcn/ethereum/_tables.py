"""The stages from the first rows to features, each an Ibis expression of the stage before.

``rows`` (see :mod:`mggcn.ethereum._rules`) → ``transactions`` without copies → ``accounts`` with their numbers →
directed ``edges`` → ``links``: each edge from both ends, in the order of a graph's rows → ``features``: one row per
account. All columns are integers, decimals and text, so that every engine gives the same rows.
"""

from collections.abc import Callable
from typing import TypeAlias

import ibis

from mggcn._io.stages import Table, Types
from mggcn.ethereum._rules import CHANGED
from mggcn.ethereum._values import FLAG, INT, TEXT, WEI, Column, whole

Stage: TypeAlias = Callable[[str, Table, Types], Table]
"""Stores a table under a name, with the given types, and returns what is stored."""

TRANSACTIONS = (
    {"src": TEXT, "dst": TEXT, "time": INT, "wei": WEI, "fee": WEI, "count": INT, "moves": FLAG, "copy": TEXT}
) | dict.fromkeys(CHANGED, FLAG)
ACCOUNTS = {"address": TEXT, "id": INT}
EDGES = {"src": INT, "dst": INT, "count": INT, "wei": WEI, "largest": WEI, "first": INT, "last": INT, "fee": WEI}
LINKS = (
    {"node": INT, "other": INT, "out_count": INT, "out_wei": WEI, "out_first": INT, "out_last": INT}
    | {"in_count": INT, "in_wei": WEI}
    | {"first": INT, "last": INT, "largest": WEI, "fee": WEI}
)
FEATURES = (
    {"address": TEXT, "id": INT, "balance_wei": WEI}
    | {"in_degree": INT, "out_degree": INT, "n_counterparties": INT, "in_tx": INT, "out_tx": INT}
    | {"in_wei": WEI, "out_wei": WEI, "fee_wei": WEI, "max_wei": WEI}
    | {"first_time": INT, "last_time": INT}
)

_SHARD = 4  # characters: 0x and two digits of an address, which makes 256 shards of similar size


def transactions(rows: Table) -> Table:
    """Return the rows that no rule dropped; ``copy`` is the rule that drops a copy, empty for rows to keep.

    Of several rows with one hash the row in the highest block is kept: after a fork the longer chain won.
    """
    kept = rows.filter(rows.dropped == "")
    columns = [name for name in TRANSACTIONS if name != "copy"]
    unnamed = kept.filter(kept.hash == "").select(*columns, copy=ibis.literal(""))
    named = kept.filter(kept.hash != "")
    order = [named[name].desc() for name in ("block", "time", "moves", "fee", "wei", "src", "dst", "count", *CHANGED)]
    position = ibis.row_number().over(group_by=named.hash, order_by=order)
    older = named.block < named.block.max().over(group_by=named.hash)
    copy = ibis.cases((position == 0, ""), (older, "reorganised"), else_="duplicate")
    return unnamed.union(named.select(*columns, copy=copy)).select(*TRANSACTIONS)


def store_stages(
    transactions: Table,
    stage: Stage,
    balances: Table | None = None,
    drop: Callable[[str], None] = lambda _: None,
    *,
    is_sorted: bool = True,
) -> None:
    """Compute and store the stages after ``transactions``.

    Args:
        transactions: the stage.
        stage: stores a table.
        balances: see :func:`features`.
        drop: called with each stage that no later one reads.
        is_sorted: sort the last two, which is not needed to export them.
    """
    numbered = stage("accounts", accounts(transactions), ACCOUNTS)
    both_ends = links(stage("edges", edges(transactions, numbered), EDGES))
    drop("transactions")
    both_ends = stage("links", sorted_links(both_ends) if is_sorted else both_ends, LINKS)
    drop("edges")
    per_account = features(both_ends, numbered, balances)
    stage("features", sorted_features(per_account) if is_sorted else per_account, FEATURES)
    drop("accounts")


def sorted_links(links: Table) -> Table:
    """Return the stage in the order of a graph's rows."""
    return links.order_by("node", "other")


def sorted_features(features: Table) -> Table:
    """Return the stage in the order of the accounts' numbers."""
    return features.order_by("id")


def accounts(transactions: Table) -> Table:
    """Return every account of the transactions with its number in the sorted order of names.

    Accounts are numbered in shards by their first characters, which engines do in parallel; then the size of the
    earlier shards is added. The numbers are those of one sorted list, for every engine and any number of files.
    """
    kept = transactions.filter(transactions.copy == "")
    names = kept.select(address=kept.src).union(kept.select(address=kept.dst), distinct=True)
    names = names.mutate(shard=names.address.substr(0, _SHARD))
    sizes = names.group_by("shard").agg(size=names.count())
    before = sizes.size.sum().over(order_by=sizes.shard, rows=(None, 0))
    starts = sizes.select("shard", start=whole(before) - sizes.size)
    numbered = names.mutate(position=ibis.row_number().over(group_by=names.shard, order_by=names.address))
    joined = numbered.join(starts, "shard")
    return joined.select("address", id=whole(joined.position) + joined.start)


def edges(transactions: Table, accounts: Table) -> Table:
    """Return one row per ordered pair of accounts; rows that move nothing belong to the pair (sender, sender)."""
    kept = transactions.filter(transactions.copy == "")
    sources, targets = accounts.select(src="address", s="id"), accounts.select(dst="address", d="id")
    numbered = kept.join(sources, "src").join(targets, "dst")
    pairs = numbered.group_by(src=numbered.s, dst=numbered.d).agg(
        count=whole(numbered["count"].sum()),
        wei=numbered.wei.sum(),
        largest=numbered.wei.max(),
        first=numbered.time.min(),
        last=numbered.time.max(),
        fee=numbered.fee.sum(),
    )
    return pairs.select(*EDGES)


def links(edges: Table) -> Table:
    """Return each edge from both ends, one row per pair and end; 0 if nothing went in a direction."""
    zero, never = ibis.literal(0, type=WEI), ibis.null("int64")
    none = ibis.literal(0, type="int64")
    nothing = {"out_count": none, "out_wei": zero, "out_first": never, "out_last": never, "fee": zero}
    nothing |= {"in_count": none, "in_wei": zero}
    outgoing = {"out_count": "count", "out_wei": "wei", "out_first": "first", "out_last": "last", "fee": "fee"}
    incoming = {"in_count": "count", "in_wei": "wei"}
    shared = {"first": "first", "last": "last", "largest": "largest"}
    sent = edges.select(node="src", other="dst", **(nothing | outgoing | shared))
    between = edges.filter(edges.src != edges.dst)
    received = between.select(node="dst", other="src", **(nothing | incoming | shared))
    both = sent.union(received)
    maxima = {name: both[name].max() for name in both.columns if name not in ("node", "other", "first")}
    merged = both.group_by("node", "other").agg(first=both.first.min(), **maxima)
    times = {name: merged[name].fill_null(0) for name in ("out_first", "out_last")}
    return merged.mutate(**times).select(*LINKS)


def features(links: Table, accounts: Table, balances: Table | None = None) -> Table:
    """Return one row per account; ``balances`` (account, balance) replace the computed balances."""
    pair = links.node != links.other
    zero = ibis.literal(0, type=WEI)

    def total(amount: Column, where: Column) -> Column:
        return amount.sum(where=where).fill_null(zero)

    def count(test: Column) -> Column:
        return whole(test.ifelse(1, 0).cast("int64").sum())

    sums = links.group_by("node").agg(
        in_degree=count(pair & (links.in_count > 0)),
        out_degree=count(pair & (links.out_count > 0)),
        n_counterparties=count(pair),
        in_tx=whole(links.in_count.sum()),
        out_tx=whole(links.out_count.sum()),
        in_wei=total(links.in_wei, pair),
        out_wei=total(links.out_wei, pair),
        genesis_wei=total(links.out_wei, ~pair),
        fee_wei=links.fee.sum(),
        max_wei=links.largest.max(where=pair).fill_null(zero),
        first_time=links.first.min(where=pair).fill_null(0),
        last_time=links.last.max(where=pair).fill_null(0),
    )
    joined = accounts.join(sums, accounts.id == sums.node)
    joined = joined.mutate(balance_wei=(joined.in_wei - joined.out_wei + joined.genesis_wei - joined.fee_wei).cast(WEI))
    if balances is not None:
        joined = joined.left_join(balances, joined.address == balances.account)
        joined = joined.mutate(balance_wei=joined.balance.fill_null(joined.balance_wei))
    return joined.select(*FEATURES)
