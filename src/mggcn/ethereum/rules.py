"""The rules that make rows of any format into transactions that move ether between two accounts.

Each is stated once, in :data:`DROPPED` or :data:`CHANGED`; the table at the end of a build repeats it. A dropped row is
counted under the first rule that drops it; a changed row under every rule that changes it.
"""

from collections.abc import Mapping, Sequence

import ibis

from mggcn.errors import InputError
from mggcn.ethereum import values
from mggcn.ethereum.values import WEI, Column, Table

DROPPED = {
    "no_time": "its time is missing, or neither seconds since 1970 nor a time in UTC",
    "later": "it is later than --as-of",
    "no_sender": "the sender is missing",
    "malformed_sender": "the sender is not 0x and 40 hexadecimal digits",
    "malformed_receiver": "the receiver is there, but not 0x and 40 hexadecimal digits; of genesis, it must be there",
    "no_value": "its value is missing, negative, not a number, or has more than 28 digits of wei",
    "unknown_status": "its status or error is there, but none of 0, 1, true and false",
    "duplicate": "another row has the same hash; without hashes, an equal row stands in another file",
    "reorganised": "a row of a higher block has the same hash",
}
CHANGED = {
    "mixed_case": "addresses are the same in any case, and written in lower case",
    "creation": "a contract was created: the receiver is the new contract",
    "unknown_contract": "a contract was created, but the file does not say which: only the fee counts",
    "failed": "it moved no value: only the fee counts",
    "to_itself": "nothing moves between accounts: only the fee counts, and there is no edge",
    "genesis": "ether that was there from the start: it adds to the balance, without a transaction or an edge",
    "below_one_wei": "digits below one wei are cut",
    "no_receipt": "the receipts do not have it: what its own file says counts",
}
GENESIS = "genesis"
ADDRESS = "^0x[0-9a-f]{40}$"

_ENDS = {"sender": "from", "receiver": "to", "contract": "contract"}
_NO, _YES = ("0", "0.0", "0x0", "false"), ("1", "1.0", "0x1", "true")
_STATED = ("sender", "receiver", "contract", "part", "block", "time", "wei", "fee", "count", "failed", "below_one_wei")

ROWS = {
    "src": "string",
    "dst": "string",
    "hash": "string",
    "block": "int64",
    "time": "int64",
    "wei": WEI,
    "fee": WEI,
    "count": "int64",
    "moves": "boolean",
    "dropped": "string",
} | dict.fromkeys(CHANGED, "boolean")
"""The types of :func:`judged`."""


def judged(
    table: Table,
    roles: Mapping[str, str],
    *,
    as_of: int | None = None,
    any_ids: bool = False,
    internal: bool = False,
    alone: bool = True,
) -> Table:
    """The canonical rows of a table, with what each rule says of them.

    A row that moves nothing between two accounts has its sender at both ends and ``moves`` false; its ``wei`` then add
    to the balance.

    Args:
        table: of any format.
        roles: the column of each role.
        as_of: seconds since 1970; what is later is dropped.
        any_ids: accounts are any text; else they must be addresses.
        internal: rows may be transfers within a transaction and share its hash; those with other ends or another value
            are then no duplicates. It must be the same for all tables, as copies are found by equal keys.
        alone: no other table is there; else rows without hashes get stand-ins that copies in other tables share.
    """
    read = _read(table, roles)
    cases = read if any_ids else read.mutate(**{end: read[f"spelled_{end}"].lower() for end in _ENDS})
    known = cases.mutate(genesis=cases.sender == GENESIS if not any_ids else ibis.literal(False))
    known = known.mutate(creation=~known.genesis & (known.receiver == ""))
    known = known.mutate(made=known.creation & _is_account(known.contract, any_ids))
    told = known.mutate(target=known.made.ifelse(known.contract, known.receiver))
    told = told.mutate(itself=~told.genesis & (told.sender == told.target))
    told = told.mutate(
        moves=~(told.failed | told.itself | told.genesis | (told.creation & ~told.made)),
        dropped=_dropped(told, as_of, any_ids),
    )
    told = _keyed(told, roles, internal) if "hash" in roles or alone else _numbered(told)
    changes = [told[end] != told[f"spelled_{end}"] for end in _ENDS]
    zero = ibis.literal(0, type=WEI)
    return told.select(
        "hash",
        "block",
        "time",
        "fee",
        "moves",
        "dropped",
        "below_one_wei",
        "no_receipt",
        "failed",
        "genesis",
        src=told.genesis.ifelse(told.receiver, told.sender),
        dst=ibis.cases((told.moves, told.target), (told.genesis, told.receiver), else_=told.sender),
        wei=(told.moves | told.genesis).ifelse(told.wei, zero),
        count=values.whole(told.moves.ifelse(told["count"], 0)),
        mixed_case=~told.genesis & (changes[0] | changes[1] | (told.made & changes[2])),
        creation=told.made & ~told.failed,
        unknown_contract=told.creation & ~told.made & ~told.failed,
        to_itself=told.itself & ~told.failed,
    ).select(*ROWS)


def _read(table: Table, roles: Mapping[str, str]) -> Table:
    """What the columns of a table say, in the canonical types."""
    if "eth" in roles:
        table = values.with_wei_of_ether(table, roles["eth"])
        wei, cut = table["ether_wei"], table["ether_cut"]
    else:
        wei, cut = values.wei(table[roles["value"]]), ibis.literal(False)
    column = {role: table[name] for role, name in roles.items()}
    ends = {end: _text(column, role) for end, role in _ENDS.items()}
    spelled = {f"spelled_{end}": name for end, name in ends.items()}
    status, error = _text(column, "status").lower(), _text(column, "error").lower()
    spellings = ("", *_NO, *_YES)
    return table.select(
        hash=_text(column, "hash").lower(),
        part=_text(column, "part"),
        block=_integer(column, "block", 18).cast("int64"),
        time=values.seconds(column["time"]),
        wei=wei,
        fee=_fee(column),
        count=_count(column),
        failed=status.isin(_NO) | error.isin(_YES),  # before the Byzantium fork files do not say: it succeeded
        unknown_status=~(status.isin(spellings) & error.isin(spellings)),
        no_receipt=column["receipt"].isnull() if "receipt" in column else ibis.literal(False),
        **ends,
        **spelled,
        below_one_wei=cut,
    )


def _dropped(told: Table, as_of: int | None, any_ids: bool) -> Column:
    """The first rule that drops a row, empty where none does."""
    reasons = [
        ("no_time", told.time.isnull()),
        ("later", told.time > as_of if as_of is not None else ibis.literal(False)),
        ("no_sender", told.sender == ""),
        ("malformed_sender", ~told.genesis & ~_is_account(told.sender, any_ids)),
        ("malformed_receiver", ~told.creation & ~_is_account(told.receiver, any_ids)),
        ("no_value", told.wei.isnull()),
        ("unknown_status", told.unknown_status),
    ]
    return ibis.cases(*((test, reason) for reason, test in reasons), else_="")


def _text(column: Mapping[str, Column], role: str) -> Column:
    return values.text(column[role]) if role in column else ibis.literal("")


def _is_account(name: Column, any_ids: bool) -> Column:
    return name != "" if any_ids else name.re_search(ADDRESS)


def _keyed(told: Table, roles: Mapping[str, str], internal: bool) -> Table:
    """The rows with a hash that the copies of one share; empty where there is none."""
    names = ["part"] * ("part" in roles) + ["sender", "receiver", "wei"] * internal
    if not names or "hash" not in roles:
        return told
    return told.mutate(hash=(told.hash == "").ifelse("", _joined(told, ["hash", *names])))


def _numbered(told: Table) -> Table:
    """Rows without hashes with stand-ins that equal rows of two tables share, but not those of one table."""
    told = told.mutate(hash=_joined(told, _STATED))
    spelled = [told[f"spelled_{end}"] for end in _ENDS]
    told = told.mutate(number=ibis.row_number().over(group_by=told.hash, order_by=spelled))
    return told.mutate(hash=_joined(told, ["hash", "number"]))


def _joined(told: Table, names: Sequence[str]) -> Column:
    return ibis.literal("/").join([told[name].cast("string").fill_null("") for name in names])


def _integer(column: Mapping[str, Column], role: str, digits: int) -> Column:
    zero = ibis.literal(0, type=WEI)
    return values.integer(column[role], digits).fill_null(zero) if role in column else zero


def _fee(column: Mapping[str, Column]) -> Column:
    """The fee, 0 where the file does not say; the factors are narrow enough for their product to fit into 38 digits."""
    if "fee" in column:
        return _integer(column, "fee", 28)
    price = _integer(column, "price", 19)
    listed = _integer(column, "list_price", 19)
    paid = (price == 0).ifelse(listed, price) if "list_price" in column else price
    return (_integer(column, "gas", 18).cast("decimal(18,0)") * paid.cast("decimal(19,0)")).cast(WEI)


def _count(column: Mapping[str, Column]) -> Column:
    if "count" not in column:
        return ibis.literal(1, type="int64")
    return values.integer(column["count"], 18).fill_null(ibis.literal(1, type=WEI)).cast("int64")


def check_roles(roles: Mapping[str, str], form: str) -> None:
    """Say by name what a table lacks that no rule can do without."""
    if "time" not in roles:
        raise InputError(f"no time ({form}): give --blocks with number and timestamp, or --columns with time=…")


def notes(roles: Mapping[str, str], form: str) -> list[str]:
    """What a table does not say, and what is taken in its place."""
    told = []
    if not {"status", "error"} & set(roles):
        told.append(f"{form}: no status, so that every transaction counts as a success")
    if "fee" not in roles and not ("gas" in roles and {"price", "list_price"} & set(roles)):
        told.append(f"{form}: no gas used and its price, so that fees count as 0")
    if "hash" not in roles:
        told.append(f"{form}: no hashes, so that equal rows of one file count as several transactions")
    return told
