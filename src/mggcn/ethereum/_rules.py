"""The rules that convert rows of any format into transactions that move ether between two accounts.

Each rule is described once, in :data:`DROPPED` or :data:`CHANGED`; the summary of a build repeats the description. A
dropped row is counted under the first rule that drops it, a changed row under every rule that changes it.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_

import ibis

from mggcn._io.stages import Table
from mggcn.errors import InputError
from mggcn.ethereum import _values
from mggcn.ethereum._formats import success_roles
from mggcn.ethereum._values import FLAG, INT, TEXT, WEI, Column

DROPPED = {
    "no_time": "its time is missing, or neither seconds since 1970 nor a time in UTC",
    "later": "it is later than as_of",
    "implausible_time": "it is before Ethereum's first block (2015-07-30; with ids='text' Bitcoin's, 2009-01-03) or in "
    "the future",
    "no_sender": "the sender is missing",
    "malformed_sender": "the sender is not 0x and 40 hexadecimal digits",
    "malformed_receiver": "the receiver is present, but not 0x and 40 hexadecimal digits; or genesis has no receiver",
    "no_value": "its value is missing, negative, not a number, or has more than 28 digits of wei",
    "unknown_status": "its status or error is present, but none of 0, 1, true and false",
    "duplicate": "another row has the same hash; without hashes, an equal row is in another file",
    "reorganised": "a row of a higher block has the same hash",
}
INTENDED = ("later", "duplicate", "reorganised")
"""The rules that drop rows which can be read; all others drop rows that cannot."""
CHANGED = {
    "mixed_case": "addresses are the same in any case, and written in lower case",
    "creation": "a contract was created: the receiver is the new contract",
    "unknown_contract": "a contract was created, but the file does not say which: only the fee counts",
    "failed": "it moved no value: only the fee counts",
    "to_itself": "nothing moves between accounts: only the fee counts, and there is no edge",
    "genesis": "ether that existed from the start: it adds to the balance, without a transaction or an edge",
    "below_one_wei": "digits below one wei are cut off",
    "no_receipt": "the receipts do not contain it: the columns of its own file count",
}
GENESIS = "genesis"
FIRST_BLOCK = 1_438_269_973
"""Of Ethereum, in seconds since 1970."""

_FIRST_OF_ANY = 1_231_006_505  # Bitcoin's first block
ADDRESS = "^0x[0-9a-f]{40}$"

_ENDS = {"sender": "from", "receiver": "to", "contract": "contract"}
_AMOUNTS = ("value", "fee", "price", "list_price")
_NO, _YES = ("0", "0.0", "0x0", "false"), ("1", "1.0", "0x1", "true")
_COMPARED = (*_ENDS, "part", "block", "time", "wei", "fee", "count", "failed", "below_one_wei")

ROWS = (
    {"src": TEXT, "dst": TEXT, "hash": TEXT, "block": INT, "time": INT, "wei": WEI, "fee": WEI, "count": INT}
    | {"moves": FLAG, "dropped": TEXT}
    | dict.fromkeys(CHANGED, FLAG)
)
"""The columns of :func:`apply_rules`."""


def apply_rules(
    table: Table,
    roles: Mapping[str, str],
    *,
    as_of: int | None = None,
    latest: int | None = None,
    any_ids: bool = False,
    internal: bool = False,
    alone: bool = True,
) -> Table:
    """Return the rows of a table in the columns of :data:`ROWS`, with the result of each rule.

    A row that moves nothing between two accounts has its sender as both ends and ``moves`` false; its ``wei`` are then
    added to the balance.

    Args:
        table: of any format.
        roles: the column of each role.
        as_of: seconds since 1970; later rows are dropped.
        latest: seconds since 1970; later rows are in the future.
        any_ids: accounts are any text; else they must be addresses.
        internal: rows can be transfers within a transaction and share its hash. They are then duplicates only if
            sender, receiver and value are equal too. It must be the same for all tables of a build.
        alone: there is no other table; else rows without hashes get keys by which copies in other tables are found.
    """
    rows = _read(table, roles)
    if not any_ids:
        rows = rows.mutate(**{end: rows[f"spelled_{end}"].lower() for end in _ENDS})
    rows = rows.mutate(genesis=ibis.literal(False) if any_ids else rows.sender == GENESIS)
    rows = rows.mutate(creation=~rows.genesis & (rows.receiver == ""))
    rows = rows.mutate(made=rows.creation & _is_account(rows.contract, any_ids))
    rows = rows.mutate(target=rows.made.ifelse(rows.contract, rows.receiver))
    rows = rows.mutate(itself=~rows.genesis & (rows.sender == rows.target))
    rows = rows.mutate(
        moves=~(rows.failed | rows.itself | rows.genesis | (rows.creation & ~rows.made)),
        dropped=_dropped(rows, as_of, latest, any_ids),
    )
    rows = _with_keys(rows, roles, internal) if "hash" in roles or alone else _with_numbered_keys(rows)
    changes = [rows[end] != rows[f"spelled_{end}"] for end in _ENDS]
    return rows.mutate(
        src=rows.genesis.ifelse(rows.receiver, rows.sender),
        dst=ibis.cases((rows.moves, rows.target), (rows.genesis, rows.receiver), else_=rows.sender),
        wei=(rows.moves | rows.genesis).ifelse(rows.wei, ibis.literal(0, type=WEI)),
        count=_values.whole(rows.moves.ifelse(rows["count"], 0)),
        mixed_case=~rows.genesis & (changes[0] | changes[1] | (rows.made & changes[2])),
        creation=rows.made & ~rows.failed,
        unknown_contract=rows.creation & ~rows.made & ~rows.failed,
        to_itself=rows.itself & ~rows.failed,
    ).select(*ROWS)


def _read(table: Table, roles: Mapping[str, str]) -> Table:
    """Return the contents of the columns in the types of the first stage."""
    table = table.select(*dict.fromkeys(roles.values()))
    table = _values.without_exponents(table, [roles[role] for role in _AMOUNTS if role in roles])
    if "eth" in roles:
        table = _values.with_wei_of_ether(table, roles["eth"])
        wei, cut = table["ether_wei"], table["ether_cut"]
    else:
        wei, cut = _values.wei(table[roles["value"]]), ibis.literal(False)
    column = {role: table[name] for role, name in roles.items()}
    ends = {end: _text(column, role) for end, role in _ENDS.items()}
    spelled = {f"spelled_{end}": name for end, name in ends.items()}
    said = {role: _text(column, role).lower() for role in roles if role.startswith(("status", "error"))}
    says_failed = [said[role].isin(_YES if role.startswith("error") else _NO) for role in said]
    unreadable = [~text.isin(("", *_NO, *_YES)) for text in said.values()]
    return table.select(
        hash=_text(column, "hash").lower(),
        part=_text(column, "part"),
        block=_integer(column, "block", 18).cast("int64"),
        time=_values.seconds(column["time"]),
        wei=wei,
        fee=_fee(column),
        count=_integer(column, "count", 18, default=1).cast("int64"),
        failed=_any(says_failed),  # an empty status, as before the Byzantium fork, is a success
        unknown_status=_any(unreadable),
        no_receipt=column["receipt"].isnull() if "receipt" in column else ibis.literal(False),
        **ends,
        **spelled,
        below_one_wei=cut,
    )


def _any(flags: Sequence[Column]) -> Column:
    return reduce(or_, flags, ibis.literal(False))


def _dropped(rows: Table, as_of: int | None, latest: int | None, any_ids: bool) -> Column:
    """Return the first rule that drops a row, empty if none does."""
    too_early = ~rows.genesis & (rows.time < (_FIRST_OF_ANY if any_ids else FIRST_BLOCK))
    tests = {
        "no_time": rows.time.isnull(),
        "later": rows.time > as_of if as_of is not None else ibis.literal(False),
        "implausible_time": too_early | (rows.time > latest) if latest is not None else too_early,
        "no_sender": rows.sender == "",
        "malformed_sender": ~rows.genesis & ~_is_account(rows.sender, any_ids),
        "malformed_receiver": ~rows.creation & ~_is_account(rows.receiver, any_ids),
        "no_value": rows.wei.isnull(),
        "unknown_status": rows.unknown_status,
    }
    return ibis.cases(*((test, rule) for rule, test in tests.items()), else_="")


def _text(column: Mapping[str, Column], role: str) -> Column:
    return _values.text(column[role]) if role in column else ibis.literal("")


def _is_account(name: Column, any_ids: bool) -> Column:
    return name != "" if any_ids else name.re_search(ADDRESS)


def _with_keys(rows: Table, roles: Mapping[str, str], internal: bool) -> Table:
    """Replace the hash by a key that only copies of a row share; empty if there is no hash."""
    names = ["part"] * ("part" in roles) + ["sender", "receiver", "wei"] * internal
    if not names or "hash" not in roles:
        return rows
    return rows.mutate(hash=(rows.hash == "").ifelse("", _joined(rows, ["hash", *names])))


def _with_numbered_keys(rows: Table) -> Table:
    """Give rows without hashes keys that equal rows of two tables share, but not equal rows of one table."""
    rows = rows.mutate(hash=_joined(rows, _COMPARED))
    spelled = [rows[f"spelled_{end}"] for end in _ENDS]
    rows = rows.mutate(number=ibis.row_number().over(group_by=rows.hash, order_by=spelled))
    return rows.mutate(hash=_joined(rows, ["hash", "number"]))


def _joined(rows: Table, names: Sequence[str]) -> Column:
    return ibis.literal("/").join([rows[name].cast("string").fill_null("") for name in names])


def _integer(column: Mapping[str, Column], role: str, digits: int, default: int = 0) -> Column:
    missing = ibis.literal(default, type=WEI)
    return _values.integer(column[role], digits).fill_null(missing) if role in column else missing


def _fee(column: Mapping[str, Column]) -> Column:
    """Return the fee, 0 if unknown; gas and price are limited so that their product fits into 38 digits."""
    if "fee" in column:
        return _integer(column, "fee", 28)
    price = _integer(column, "price", 19)
    listed = _integer(column, "list_price", 19)
    paid = (price == 0).ifelse(listed, price) if "list_price" in column else price
    return (_integer(column, "gas", 18).cast("decimal(18,0)") * paid.cast("decimal(19,0)")).cast(WEI)


def check_roles(roles: Mapping[str, str], kind: str) -> None:
    """Raise an error if a table lacks a role that the rules need."""
    if "time" not in roles:
        raise InputError(f"no time ({kind}): give blocks=… with number and timestamp, or columns=… with time=…")


def notes(roles: Mapping[str, str], kind: str, columns: Sequence[str]) -> list[str]:
    """Return what a table with these columns does not contain, and what is assumed instead."""
    lines = []
    if not {"status", "error"} & set(roles):
        unused = ", ".join(f"{role}={column}" for role, column in success_roles(columns).items())
        hint = f" (columns does not name {unused})" if unused else ""
        lines.append(f"{kind}: no status, so that every transaction counts as a success{hint}")
    if "fee" not in roles and not ("gas" in roles and {"price", "list_price"} & set(roles)):
        lines.append(f"{kind}: no gas used and its price, so that fees count as 0")
    if "hash" not in roles:
        lines.append(f"{kind}: no hashes, so that equal rows of one file count as several transactions")
    return lines
