"""The columns of transactions: the formats in which they come, and expressions that read their values exactly.

A *role* is what a column means, whatever its name; a format gives each role its column, and ``--columns`` sets roles by
hand. Ibis expressions convert a column of any type: accounts to text, wei to decimals, times to seconds. Values that
cannot be read become null. Text that cannot be read is replaced by a valid constant before it is cast, so that no cast
fails in any engine. No expression uses floats, because engines round them differently.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeAlias

import ibis

from mggcn.errors import InputError, unknown

Table: TypeAlias = Any
"""A table of Ibis."""

ROLES = {
    "from": "the sender",
    "to": "the receiver",
    "value": "the value in wei",
    "eth": "the value in ether, instead of value",
    "time": "seconds since 1970, or a time in UTC",
    "hash": "the transaction's hash",
    "part": "what distinguishes transfers within one transaction",
    "block": "the block's number",
    "status": "1 or true if it succeeded, 0 or false if it failed",
    "error": "0 or false if it succeeded, 1 or true if it failed",
    "contract": "the contract that was created",
    "gas": "the gas used",
    "price": "the price of a unit of gas, in wei",
    "list_price": "the same, used if price is empty",
    "fee": "the fee in wei, instead of gas and price",
    "count": "how many transactions the row adds up",
}

TYPES = ("transaction", "internal", "token")
"""The types of edges: transactions, the transfers of ether that contracts made within them, and transfers of tokens."""
TRANSACTION, INTERNAL_TRANSFER, TOKEN = range(len(TYPES))

_TRANSACTIONS = {
    "from": ("from_address",),
    "to": ("to_address",),
    "value": ("value",),
    "time": ("block_timestamp", "timestamp"),
    "hash": ("hash", "transaction_hash"),
    "block": ("block_number",),
    "contract": ("receipt_contract_address",),
    "gas": ("receipt_gas_used", "gas_used"),
    "price": ("receipt_effective_gas_price", "effective_gas_price"),
    "list_price": ("gas_price",),
}
_CRYO = _TRANSACTIONS | {"value": ("value_string", "value_binary", "value_f64")}
_TRACES = {
    "from": ("from_address", "action_from"),
    "to": ("to_address", "action_to"),
    "value": ("value", "action_value"),
    "time": ("block_timestamp", "timestamp"),
    "hash": ("transaction_hash",),
    "index": ("transaction_index", "transaction_position"),
    "part": ("trace_address",),
    "block": ("block_number",),
    "kind": ("trace_type", "action_type"),
    "call": ("call_type", "action_call_type"),
    "contract": ("result_address",),
    "message": ("error",),
}
_TOKENS = {
    "token": ("token_address", "erc20", "contractAddress"),
    "from": ("from_address", "from"),
    "to": ("to_address", "to"),
    "value": ("value", "value_string", "value_binary", "value_f64"),
    "time": ("block_timestamp", "timestamp", "timeStamp"),
    "hash": ("transaction_hash", "hash"),
    "part": ("log_index",),
    "block": ("block_number", "blockNumber"),
    "standard": ("token_type", "token_standard"),
}
_IDS = "their values are ids of single items (ERC-721), which are not amounts; give transfers of ERC-20 tokens"
_INPUTS = (
    "a transaction has several inputs and outputs (UTXO), so that no input pays a certain output; only chains whose "
    "transfers have one sender and one receiver can be read"
)
_ETHERSCAN = {"from": ("from",), "to": ("to",), "value": ("value",), "time": ("timeStamp",), "hash": ("hash",)}
_ETHERSCAN |= {"block": ("blockNumber",), "contract": ("contractAddress",)}
_ETHERSCAN_MARKS = ("from", "to", "value", "timeStamp")
_XBLOCK = {"from": ("From",), "to": ("To",), "eth": ("Value",), "time": ("TimeStamp",), "hash": ("TxHash",)}
_XBLOCK |= {"block": ("BlockHeight",), "contract": ("ContractAddress",)}
_SUCCESS = {"status": "status", "receiptstatus": "status", "txreceiptstatus": "status", "success": "status"}
_SUCCESS |= {"iserror": "error"}
"""The role of a column that says whether a transaction succeeded, by its name in lower case without underscores."""
Column: TypeAlias = Any

TEXT, INT, FLAG, WEI = "string", "int64", "boolean", "decimal(38,0)"

EMPTY = ("", "null", "none", "nan", "<na>", "0x")  # the spellings of a missing value in files, in lower case

_MOST_DIGITS = 28  # eighty times all existing ether; the sum of ten billion such values still fits into 38 digits
_BYTES = "_binary"  # the suffix of cryo's columns of bytes, which it can also write as hexadecimal text
_LATEST = 10**11  # seconds; larger numbers are milliseconds
_DAY_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?( ?UTC|Z|[+]00(:?00)?)?$"


@dataclass(frozen=True)
class Format:
    """A format of transactions."""

    name: str
    marks: tuple[str, ...]  # the columns by which it is recognised
    roles: Mapping[str, tuple[str, ...]]  # for each role its possible columns, the preferred first
    refusal: str = ""  # why it cannot be used; empty if it can
    type: int = TRANSACTION  # of edges; traces hold the transactions as well


TRACES = ("ethereum-etl and BigQuery traces", "cryo traces")
ERC20 = ("cryo ERC-20 transfers", "Etherscan ERC-20 transfers")
"""The formats whose values are amounts of tokens; in other transfers of tokens they can be ids."""
_UTXO: tuple[tuple[str, ...], ...] = (
    *(("inputs", "outputs"), ("vin", "vout"), ("input_count", "output_count")),
    *(("spent_transaction_hash",), ("spending_transaction_hash",)),
)
_ITEMS = (("tokenID",), ("token_id", "from_address", "to_address"))

FORMATS = (
    *(Format("transactions of several inputs", marks, {}, _INPUTS) for marks in _UTXO),
    *(Format("transfers of single items", marks, {}, _IDS) for marks in _ITEMS),
    Format(TRACES[0], ("trace_type", "from_address", "to_address", "value"), _TRACES, type=INTERNAL_TRANSFER),
    Format(TRACES[1], ("action_type", "action_from", "action_to", "action_value"), _TRACES, type=INTERNAL_TRANSFER),
    *(
        Format(ERC20[0], ("erc20", "from_address", "to_address", value), _TOKENS, type=TOKEN)
        for value in _CRYO["value"]
    ),
    Format(ERC20[1], ("tokenSymbol", "contractAddress", "from", "to", "value", "timeStamp"), _TOKENS, type=TOKEN),
    Format(
        "ethereum-etl and BigQuery token transfers",
        ("token_address", "from_address", "to_address", "value"),
        _TOKENS,
        type=TOKEN,
    ),
    *(Format("cryo", ("from_address", "to_address", value), _CRYO) for value in _CRYO["value"]),
    Format("BigQuery", ("from_address", "to_address", "value", "receipt_status"), _TRANSACTIONS),
    Format("ethereum-etl", ("from_address", "to_address", "value"), _TRANSACTIONS),
    Format(
        "Etherscan internal transactions",
        (*_ETHERSCAN_MARKS, "traceId"),
        _ETHERSCAN | {"part": ("traceId",)},
        type=INTERNAL_TRANSFER,
    ),
    Format("Etherscan", _ETHERSCAN_MARKS, _ETHERSCAN | {"gas": ("gasUsed",), "price": ("gasPrice",)}),
    Format("XBlock", ("From", "To", "Value", "TimeStamp"), _XBLOCK),
)
BY_HAND = "given columns"
TYPE_OF = {form.name: form.type for form in FORMATS} | {BY_HAND: TRANSACTION}
"""The type of the edges of a format, by its name."""
INTERNAL = (BY_HAND, "XBlock")
"""The formats whose rows can be transfers within a transaction, which share its hash."""
RECEIPTS = {
    "hash": ("transaction_hash", "hash"),
    "block": ("block_number",),
    "status": ("status", "receipt_status"),
    "contract": ("contract_address",),
    "gas": ("gas_used",),
    "price": ("effective_gas_price",),
}
BLOCKS = {"block": ("number", "block_number"), "time": ("timestamp", "block_timestamp")}
BALANCES = {
    "account": ("address", "account"),
    "balance": ("eth_balance", "balance", "balance_string", "balance_binary"),
}


def recognise(columns: Sequence[str], roles: Mapping[str, str] | None = None) -> tuple[str, dict[str, str]]:
    """Return the name of a table's format and the column of each role; ``roles`` are roles set by hand."""
    if roles:
        for role, column in roles.items():
            if column not in columns:
                raise InputError(f"no column {column!r} for {role} (it has {', '.join(map(repr, columns))})")
        return BY_HAND, dict(roles)
    for form in FORMATS:
        if all(mark in columns for mark in form.marks):
            if form.refusal:
                raise InputError(f"these are {form.name}: {form.refusal}")
            return form.name, assign_roles(columns, form.roles) | success_roles(columns)
    raise InputError(f"{_missing(columns)}; give the columns by hand: columns='from=…,to=…,value=…,time=…'")


def assign_roles(columns: Sequence[str], candidates: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return the column of each role that has one."""
    present = {role: [name for name in names if name in columns] for role, names in candidates.items()}
    return {role: names[0] for role, names in present.items() if names}


def success_roles(columns: Sequence[str]) -> dict[str, str]:
    """The roles of all columns that say whether a transaction succeeded: status, error, status_2 for another one."""
    roles: dict[str, str] = {}
    for column in columns:
        role = _SUCCESS.get(column.lower().replace("_", ""))
        if role is not None:
            number = sum(name.startswith(role) for name in roles) + 1
            roles[role if number == 1 else f"{role}_{number}"] = column
    return roles


def parse_columns(text: str) -> dict[str, str]:
    """Parse ``from=…,to=…,value=…,time=…``."""
    roles: dict[str, str] = {}
    for entry in text.split(","):
        role, equals, column = (part.strip() for part in entry.partition("="))
        if not equals or not column:
            raise InputError(f"columns: {entry!r} is not ROLE=COLUMN")
        if role not in ROLES:
            raise unknown("role in columns", role, ROLES)
        roles[role] = column
    for role in ("from", "to", "value"):
        if role not in roles and not (role == "value" and "eth" in roles):
            raise InputError(f"columns: no {role}=… ({ROLES[role]})")
    if "value" in roles and "eth" in roles:
        raise InputError("columns: value=… and eth=… exclude each other")
    return roles


def _missing(columns: Sequence[str]) -> str:
    """Say which column is missing, in the format that lacks the fewest."""
    usable = [form for form in FORMATS if not form.refusal]
    nearest = min(usable, key=lambda form: (sum(mark not in columns for mark in form.marks), -len(form.marks)))
    missing = [mark for mark in nearest.marks if mark not in columns]
    if len(missing) == len(nearest.marks):
        return f"no known format has the columns {', '.join(map(repr, columns))}"
    similar = get_close_matches(missing[0], columns, n=1)
    hint = f" ({similar[0]!r} is there)" if similar else ""
    return f"column {missing[0]!r} of {nearest.name} is missing{hint}"


def _hex(value: bytes) -> str:
    """Stand for the engines' built-in function of this name."""
    raise NotImplementedError


_HEX = ibis.udf.scalar.builtin(_hex, name="hex")


def text(column: Column) -> Column:
    """Return the value as text, empty if missing; bytes become 0x and lower-case hexadecimal digits."""
    if column.type().is_binary():
        column = ibis.literal("0x") + _HEX(column).lower()
    elif not column.type().is_string():
        column = column.cast("string")
    column = column.fill_null("")
    return column.lower().isin(EMPTY).ifelse("", column)


def with_0x(address: Column) -> Column:
    """Return an address in lower case, with the 0x that it may lack."""
    lowered = address.lower()
    return lowered.re_search("^[0-9a-f]{40}$").ifelse(ibis.literal("0x") + lowered, lowered)


def integer(column: Column, digits: int = _MOST_DIGITS) -> Column:
    """Return a non-negative number as ``decimal(38,0)``; null if it is not one or has more digits."""
    kind = column.type()
    _refuse_floats(column)
    if kind.is_string():
        readable = column.re_search(f"^0*[0-9]{{1,{digits}}}([.]0*)?$")
        value = readable.ifelse(column.re_replace("[.]0*$", ""), "0").cast(WEI)
        return readable.ifelse(value, ibis.null(WEI))
    if kind.is_binary():
        return _from_hexadecimal(_HEX(column).lower(), digits)
    number = column.cast(WEI)
    return ((number >= 0) & (number < ibis.literal(10**digits, type=WEI))).ifelse(number, ibis.null(WEI))


def wei(column: Column, digits: int = _MOST_DIGITS) -> Column:
    """Return a value in wei like :func:`integer`; text in a column of bytes is read as 0x and hexadecimal digits."""
    if not (column.type().is_string() and column.get_name().endswith(_BYTES)):
        return integer(column, digits)
    spelled = column.lower()
    readable = spelled.re_search("^0x[0-9a-f]+$").fill_null(False)
    hexadecimal = readable.ifelse(spelled.substr(len("0x")), "0")
    return readable.ifelse(_from_hexadecimal(hexadecimal, digits), ibis.null(WEI))


def point_moved(table: Table, name: str, places: int = 0) -> Table:
    """Write decimals such as ``1.25e+18``, ``0.25`` and ``7e-09`` in a column, times a power of ten, as whole numbers.

    With a power, digits after the point are cut off, and ``point_cut`` says where; else such a text stays as it is, as
    any that is no decimal. The point is moved in the text; nothing is multiplied or divided. Each step is a select of
    its own, because one nested expression would repeat its parts.
    """
    _refuse_floats(table[name])
    spelled = table[name] if table[name].type().is_string() else table[name].cast("string")
    valid = spelled.re_search("^([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,2})?$").fill_null(False)
    table = table.mutate(point_text=valid.ifelse(spelled, "0").lower(), point_valid=valid)
    powers = table.point_text.contains("e").ifelse(table.point_text.re_replace("^.*e[+]?", ""), "0")
    table = table.mutate(point_power=powers.cast("int64"), point_text=table.point_text.re_replace("e.*$", ""))
    fraction = table.point_text.contains(".").ifelse(table.point_text.re_replace("^.*[.]", ""), "")
    table = table.mutate(point_shift=table.point_power + places - fraction.length())
    zeros = ibis.literal("0").repeat(ibis.greatest(table.point_shift, 0))
    table = table.mutate(point_all=table.point_text.replace(".", "") + zeros)
    length = ibis.greatest(table.point_all.length() + ibis.least(table.point_shift, 0), 0)
    table = table.mutate(point_kept=length)
    rest = table.point_all.substr(table.point_kept, table.point_all.length())
    kept = ibis.literal("0") + table.point_all.substr(0, table.point_kept)
    table = table.mutate(point_digits=kept, point_cut=table.point_valid & rest.re_search("[1-9]"))
    is_written = table.point_valid if places else table.point_valid & ~table.point_cut
    return table.mutate(**{name: is_written.ifelse(table.point_digits, table[name].cast("string"))})


def seconds(column: Column) -> Column:
    """Return seconds since 1970 in UTC, from such seconds, a timestamp, or text of either."""
    kind = column.type()
    if kind.is_timestamp():
        return column.truncate("s").epoch_seconds().cast("int64")
    if not kind.is_string():
        return _in_range(integer(column))
    dated = column.re_search(_DAY_TIME)
    safe = dated.fill_null(False).ifelse(column, "1970-01-01 00:00:00")
    moment = (safe.substr(0, 10) + ibis.literal(" ") + safe.substr(11, 8)).try_cast("timestamp")
    return dated.fill_null(False).ifelse(moment.epoch_seconds().cast("int64"), _in_range(integer(column)))


def whole(number: Column) -> Column:
    """Return an int64 on every engine; sums and row numbers are int32 or 128-bit integers on some."""
    return number.cast(WEI).cast("int64")


def _in_range(number: Column) -> Column:
    return (number < _LATEST).ifelse(number, ibis.null(WEI)).cast("int64")


def _from_hexadecimal(digits: Column, decimals: int = _MOST_DIGITS) -> Column:
    """Return the number of big-endian hexadecimal digits; null if it has more than about so many decimal digits."""
    most = math.ceil(decimals * math.log(10, 16))
    padded = (ibis.literal("0" * most) + digits.re_replace("^0+", "")).right(most)
    terms = [
        ibis.literal("0123456789abcdef").find(padded.substr(position, 1)).cast(WEI)
        * ibis.literal(16 ** (most - 1 - position), type=WEI)
        for position in range(most)
    ]
    fits = digits.re_search(f"^0*[0-9a-f]{{0,{most}}}$")
    return fits.ifelse(sum(terms[1:], terms[0]).cast(WEI), ibis.null(WEI))


def _refuse_floats(column: Column) -> None:
    if column.type().is_floating():
        raise InputError(
            f"column {column.get_name()!r} holds {column.type()}, which cannot hold wei exactly; "
            "export it as text or as a decimal"
        )
