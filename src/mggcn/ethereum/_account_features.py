"""The features of an account, computed from exact integers.

The paper names balance, in degree, out degree and transaction frequency; the others are ours. Every one of the thirteen
is stored as sign(f) · log(1 + |f|). Training fits the scale of the features on the training accounts.

Two more say the role of an account, as 0 or 1. They follow from the thirteen, but a model with few labels does not
learn that payers, who never received anything, are another kind of account (``benchmarks/roles.py``).
"""

from functools import partial
from typing import Any

import numpy as np
import pyarrow
from msgspec import structs
from numpy.typing import NDArray

from mggcn.data import Measure

_measure = partial(Measure, is_log=True)
_counterparties = partial(_measure, unit="accounts")
PARTIAL = "transactions are missing, as in a partial crawl"
"""Of an account that paid more than came in, which is impossible on the chain."""
_THIRTEEN = {
    "balance": (
        "sum of I - sum of O - fees of all sent transactions + ether from genesis, in ether; or from balances",
        _measure("balance {} ether", "ether", negative=f"paid {{}} ether more than came in: {PARTIAL}"),
    ),
    "in_degree": (
        "distinct senders of I",
        _counterparties("received from {} accounts", counts="in", one="received from 1 account"),
    ),
    "out_degree": (
        "distinct receivers of O",
        _counterparties("sent to {} accounts", counts="out", one="sent to 1 account"),
    ),
    "n_counterparties": (
        "distinct accounts among both",
        _counterparties("transactions with {} accounts", counts="both", one="transactions with 1 account"),
    ),
    "in_tx": ("number of I", _measure("received {} transactions", "transactions", one="received 1 transaction")),
    "out_tx": ("number of O", _measure("sent {} transactions", "transactions", one="sent 1 transaction")),
    "in_eth": ("sum of I, in ether", _measure("received {} ether", "ether")),
    "out_eth": ("sum of O, in ether", _measure("sent {} ether", "ether")),
    "in_avg": ("in_eth / max(in_tx, 1)", _measure("received {} ether a transaction", "ether")),
    "out_avg": ("out_eth / max(out_tx, 1)", _measure("sent {} ether a transaction", "ether")),
    "max_eth": ("largest single value of I and O, in ether", _measure("largest transfer {} ether", "ether")),
    "active_days": (
        "days from the first to the last of I and O",
        _measure("active for {} days", "days", one="active for 1 day"),
    ),
    "tx_freq": (
        "(in_tx + out_tx) / (active_days + 1)",
        _measure("{} transactions a day", "transactions a day", one="1 transaction a day"),
    ),
}
_ROLES = {
    "never_received": ("1 if in_tx is 0, else 0", Measure("never received", zero="has received")),
    "never_sent": ("1 if out_tx is 0, else 0", Measure("never sent", zero="has sent")),
}
_ALL = _THIRTEEN | _ROLES
FORMULAS = {name: formula for name, (formula, _) in _ALL.items()}
"""The formula of each feature; I and O are the transactions into and out of an account that moved value."""
THIRTEEN, ROLE_FEATURES = tuple(_THIRTEEN), tuple(_ROLES)
MEASURES = {name: measure for name, (_, measure) in _ALL.items()}  # what the stored numbers mean, in words
ETHER = 10**18  # in wei
_DAY = 86_400
_RELATIVE_ERROR = 8 * float(np.finfo(np.longdouble).eps)
"""Of a quotient after four roundings to extended floats, with a margin."""


def measures_in(unit: str) -> dict[str, Measure]:
    """What the stored numbers mean, in words, for values in a unit that may not be ether."""

    def said(measure: Measure) -> Measure:
        words = {
            key: text.replace("ether", unit) for key, text in structs.asdict(measure).items() if isinstance(text, str)
        }
        return structs.replace(measure, **words)

    return {name: said(measure) for name, measure in MEASURES.items()}


def matrix(batch: Any, unit: int, *, roles: bool) -> NDArray[np.float32]:
    """[n, 13] the features of accounts from a ``pyarrow`` batch of the stage ``features``; [n, 15] with their roles.

    ``unit`` is one ether.
    """
    in_tx, out_tx, first, last = (batch[name].to_numpy() for name in ("in_tx", "out_tx", "first_time", "last_time"))
    active_seconds = last - first
    features = np.column_stack(
        [
            quotient(batch["balance_wei"], unit=unit),
            *(quotient(batch[name]) for name in THIRTEEN[1:6]),
            quotient(batch["in_wei"], unit=unit),
            quotient(batch["out_wei"], unit=unit),
            quotient(batch["in_wei"], np.maximum(in_tx, 1), unit=unit),
            quotient(batch["out_wei"], np.maximum(out_tx, 1), unit=unit),
            quotient(batch["max_wei"], unit=unit),
            active_seconds / _DAY,
            (in_tx + out_tx) * _DAY / (active_seconds + _DAY),
        ]
    )
    stored = np.sign(features) * np.log1p(np.abs(features))
    if roles:
        stored = np.column_stack([stored, in_tx == 0, out_tx == 0])
    return np.asarray(stored, np.float32)


def quotient(numerator: Any, denominator: NDArray[np.int64] | None = None, unit: int = 1) -> NDArray[np.float64]:
    """[n] ``numerator / (denominator · unit)`` of a ``pyarrow`` array of int64 or decimal128, rounded once.

    A float64 of wei, or a product of floats, is inexact. The quotient of extended floats has so many more digits that
    its bounds are nearly always rounded to the same float64. Where they are not, Python divides integers of any size.
    """
    high, low = _words(numerator)
    divisors = np.ones(high.size, np.int64) if denominator is None else denominator
    extended = np.longdouble
    nearly = (high.astype(extended) * extended(2**64) + low.astype(extended)) / (divisors * extended(unit))
    error = np.abs(nearly) * extended(_RELATIVE_ERROR)
    rounded, above = (nearly - error).astype(np.float64), (nearly + error).astype(np.float64)
    for row in np.flatnonzero(rounded != above).tolist():
        rounded[row] = ((int(high[row]) << 64) + int(low[row])) / (int(divisors[row]) * unit)
    return rounded


def _words(column: Any) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """The upper and lower 64 bits of integers or of decimals with scale 0."""
    if column.null_count:
        raise ValueError("nulls among exact numbers")
    if not pyarrow.types.is_decimal128(column.type):
        values = column.to_numpy()
        return values >> 63, values.view(np.uint64)
    words = np.frombuffer(column.buffers()[1], np.dtype([("low", "<u8"), ("high", "<i8")]))
    words = words[column.offset : column.offset + len(column)]
    return words["high"], words["low"]
