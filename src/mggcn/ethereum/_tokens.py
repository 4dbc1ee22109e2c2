"""Transfers of tokens: which values are amounts, and which can be ids of single items.

ERC-20 and ERC-721 have the same event Transfer; an export that does not tell them apart has the id of an item where an
amount would be. A sum of ids means nothing, so a token's transfers are left out unless

* the format holds ERC-20 alone, or a column says that it is one,
* or one of its values is at least 10^9, and nobody numbers a billion items,
* or two accounts sent the same value that they had not received: an item is passed on by one account after the other.

Values of more than 32 digits, as hashes are, are no amounts in any case.
"""

import ibis

from mggcn.ethereum._formats import TOKEN, WEI, Column, Table

DIGITS = 32  # of an amount; the sum of a million such values fits into 38 digits
_MOST_ITEMS = 10**9
_STANDARDS = {"erc20": True, "erc721": False, "erc1155": False}
"""Whether transfers of a standard have amounts; those of ERC-1155 are of many items each."""


def is_amount(standard: Column) -> Column:
    """Whether a column says that a token has amounts; null if it says nothing."""
    spelled = standard.lower().re_replace("[^0-9a-z]", "")
    known = [(spelled == name, ibis.literal(value)) for name, value in _STANDARDS.items()]
    return ibis.cases(*known, else_=ibis.null("boolean"))


def are_amounts(kept: Table) -> Table:
    """Return the tokens (``named``) whose values are amounts, from rows without copies."""
    rows = kept.filter(kept.type == TOKEN)
    large = rows.group_by("token").agg(
        sure=rows.sure.cast("int64").max(), most=rows.wei.max().fill_null(ibis.literal(0, type=WEI))
    )
    by_size = large.filter((large.sure > 0) | (large.most >= ibis.literal(_MOST_ITEMS, type=WEI))).select("token")
    moved = rows.filter(rows.moves)
    one = ibis.literal(1, type="int64")
    ends = moved.select("token", "wei", account=moved.src, sent=one).union(
        moved.select("token", "wei", account=moved.dst, sent=-one)
    )
    each = ends.group_by("token", "wei", "account").agg(sent=ends.sent.sum())
    starts = each.filter(each.sent > 0)
    values = starts.group_by("token", "wei").agg(starts=starts.sent.sum())
    by_repetition = values.filter(values.starts > 1).select("token")
    return by_size.union(by_repetition, distinct=True).select(named="token")
