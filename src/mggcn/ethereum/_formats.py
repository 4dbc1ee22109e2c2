"""The known formats of transactions: the columns by which each is recognised, and the column of each role.

A *role* is what a column means, whatever its name; ``--columns`` sets roles by hand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from mggcn.errors import InputError, unknown

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
_TOKENS = (("token_address", "value"), ("tokenSymbol", "value"), ("erc20", "from_address"))
_TRACES = (("trace_type", "value"), ("action_from", "action_value"))
_ETHERSCAN = {"from": ("from",), "to": ("to",), "value": ("value",), "time": ("timeStamp",), "hash": ("hash",)}
_ETHERSCAN |= {"block": ("blockNumber",), "contract": ("contractAddress",)}
_ETHERSCAN_MARKS = ("from", "to", "value", "timeStamp")
_XBLOCK = {"from": ("From",), "to": ("To",), "eth": ("Value",), "time": ("TimeStamp",), "hash": ("TxHash",)}
_XBLOCK |= {"block": ("BlockHeight",), "contract": ("ContractAddress",)}
_SUCCESS = {"status": "status", "receiptstatus": "status", "txreceiptstatus": "status", "success": "status"}
_SUCCESS |= {"iserror": "error"}
"""The role of a column that says whether a transaction succeeded, by its name in lower case without underscores."""


@dataclass(frozen=True)
class Format:
    """A format of transactions.

    Args:
        name: for messages.
        marks: the columns by which it is recognised.
        roles: for each role its possible columns, the preferred first.
        refusal: why it cannot be used; empty if it can.
        internal: whether rows can be transfers within a transaction, which share its hash.
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
    Format("Etherscan internal transactions", (*_ETHERSCAN_MARKS, "traceId"), _ETHERSCAN | {"part": ("traceId",)}),
    Format("Etherscan", _ETHERSCAN_MARKS, _ETHERSCAN | {"gas": ("gasUsed",), "price": ("gasPrice",)}),
    Format("XBlock", ("From", "To", "Value", "TimeStamp"), _XBLOCK, internal=True),
)
BY_HAND = "given columns"
INTERNAL = (BY_HAND, *(form.name for form in FORMATS if form.internal))
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
