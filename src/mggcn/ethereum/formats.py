"""Which file is what: the formats of transactions, told apart by their columns, and where each keeps what is needed.

A column's *role* is what it means whatever it is called; ``--columns`` gives roles by hand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from mggcn.errors import InputError, unknown

ROLES = {
    "from": "the sender",
    "to": "the receiver",
    "value": "the value in wei",
    "eth": "the value in ether, in place of value",
    "time": "seconds since 1970, or a time in UTC",
    "hash": "the transaction's hash",
    "part": "what tells apart transfers within one transaction",
    "block": "the block's number",
    "status": "1 or true where it succeeded, 0 or false where it failed",
    "error": "0 or false where it succeeded, 1 or true where it failed",
    "contract": "the contract that a creation made",
    "gas": "the gas used",
    "price": "what a unit of gas cost, in wei",
    "list_price": "the same, where price is empty",
    "fee": "the fee in wei, in place of gas and price",
    "count": "how many transactions the row sums up",
}

_TRANSACTIONS = {
    "from": ("from_address",),
    "to": ("to_address",),
    "value": ("value",),
    "time": ("block_timestamp", "timestamp"),
    "hash": ("hash", "transaction_hash"),
    "block": ("block_number",),
    "status": ("receipt_status", "status"),
    "contract": ("receipt_contract_address",),
    "gas": ("receipt_gas_used", "gas_used"),
    "price": ("receipt_effective_gas_price", "effective_gas_price"),
    "list_price": ("gas_price",),
}
_CRYO = _TRANSACTIONS | {"value": ("value_string", "value_binary", "value_f64"), "status": ("success",)}
_TOKENS = (("token_address", "value"), ("tokenSymbol", "value"), ("erc20", "from_address"))
_TRACES = (("trace_type", "value"), ("action_from", "action_value"))
_ETHERSCAN = {
    "from": ("from",),
    "to": ("to",),
    "value": ("value",),
    "time": ("timeStamp",),
    "hash": ("hash",),
    "block": ("blockNumber",),
    "error": ("isError",),
    "contract": ("contractAddress",),
}


@dataclass(frozen=True)
class Format:
    """A kind of table.

    Args:
        name: in words.
        marks: the columns that tell it apart.
        roles: for each role the columns that may have it, the best first.
        refusal: why it cannot be used, where it cannot.
        internal: whether rows may be transfers within a transaction, which share its hash.
    """

    name: str
    marks: tuple[str, ...]
    roles: Mapping[str, tuple[str, ...]]
    refusal: str = ""
    internal: bool = False


FORMATS = (
    *(Format("token transfers", marks, {}, "their values are amounts of a token, not ether") for marks in _TOKENS),
    *(Format("traces", marks, {}, "they repeat the transactions; give the transactions") for marks in _TRACES),
    *(Format("cryo", ("from_address", "to_address", value), _CRYO) for value in _CRYO["value"]),
    Format("BigQuery", ("from_address", "to_address", "value", "receipt_status"), _TRANSACTIONS),
    Format("ethereum-etl", ("from_address", "to_address", "value"), _TRANSACTIONS),
    Format(
        "Etherscan internal transactions",
        ("from", "to", "value", "timeStamp", "traceId"),
        _ETHERSCAN | {"part": ("traceId",)},
    ),
    Format(
        "Etherscan",
        ("from", "to", "value", "timeStamp"),
        _ETHERSCAN | {"gas": ("gasUsed",), "price": ("gasPrice",)},
    ),
    Format(
        "XBlock",
        ("From", "To", "Value", "TimeStamp"),
        {
            "from": ("From",),
            "to": ("To",),
            "eth": ("Value",),
            "time": ("TimeStamp",),
            "hash": ("TxHash",),
            "block": ("BlockHeight",),
            "error": ("isError",),
            "contract": ("ContractAddress",),
        },
        internal=True,
    ),
)
GIVEN = "given columns"
INTERNAL = (GIVEN, *(form.name for form in FORMATS if form.internal))
"""The formats whose rows may be transfers within a transaction, which share its hash."""
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


def recognise(names: Sequence[str], given: Mapping[str, str] | None = None) -> tuple[str, dict[str, str]]:
    """The format of a table with these columns and the column of each role; ``given`` are roles set by hand."""
    if given:
        return GIVEN, _given(names, given)
    for form in FORMATS:
        if all(mark in names for mark in form.marks):
            if form.refusal:
                raise InputError(f"these are {form.name}: {form.refusal}")
            return form.name, assigned(names, form.roles)
    raise InputError(f"{_what_is_missing(names)}; give the columns by hand: --columns from=…,to=…,value=…,time=…")


def assigned(names: Sequence[str], roles: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """The column of each role that has one."""
    found = {role: [name for name in known if name in names] for role, known in roles.items()}
    return {role: columns[0] for role, columns in found.items() if columns}


def parse_columns(text: str) -> dict[str, str]:
    """Read ``from=…,to=…,value=…,time=…``."""
    roles: dict[str, str] = {}
    for entry in text.split(","):
        role, equals, column = (part.strip() for part in entry.partition("="))
        if not equals or not column:
            raise InputError(f"--columns: {entry!r} is not ROLE=COLUMN")
        if role not in ROLES:
            raise unknown("role in --columns", role, ROLES)
        roles[role] = column
    missing = [
        role for role in ("from", "to", "value") if role not in roles and not (role == "value" and "eth" in roles)
    ]
    if missing:
        raise InputError(f"--columns: no {missing[0]}=… ({ROLES[missing[0]]})")
    if "value" in roles and "eth" in roles:
        raise InputError("--columns: value=… and eth=… exclude each other")
    return roles


def _given(names: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    for role, column in given.items():
        if column not in names:
            raise InputError(f"no column {column!r} for {role} (it has {', '.join(map(repr, names))})")
    return dict(given)


def _what_is_missing(names: Sequence[str]) -> str:
    """The format that lacks least, and what of it is not there."""
    usable = [form for form in FORMATS if not form.refusal]
    near = min(usable, key=lambda form: (sum(mark not in names for mark in form.marks), -len(form.marks)))
    missing = [mark for mark in near.marks if mark not in names]
    if len(missing) == len(near.marks):
        return f"no known format has the columns {', '.join(map(repr, names))}"
    close = get_close_matches(missing[0], names, n=1)
    hint = f" ({close[0]!r} is there)" if close else ""
    return f"column {missing[0]!r} of {near.name} is missing{hint}"
