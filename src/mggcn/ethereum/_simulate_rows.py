"""Simulated transactions as tables with ethereum-etl's columns, a slice of rows at a time.

Hashes, addresses, gas and the last digits of values are functions of the seed and the number of the row or account, so
that rows do not depend on the sizes of the slices.
"""

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.ethereum._simulate_world import END, NO_RECEIVER, START, Ints, Transfers
from mggcn.keys import GOLDEN, MASK, Key, folds

_FIRST_BLOCK, _BLOCK_SECONDS = 778_483, 14  # the first block of 2016; the mean time per block then
_TRANSFER_GAS = 21_000
_HEX = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), dtype=np.uint16)
_CALLS = 4
_INPUTS = np.array(["0xa9059cbb", "0xd0e30db0", "0x", "0x095ea7b3", "0x", "0x6080604052"])
"""The inputs of calls, then that of a transfer and the start of a contract's code."""


@dataclass(frozen=True)
class Rows:
    """All transactions, sorted by time."""

    source: NDArray[np.int32]
    target: NDArray[np.int32]  # or NO_RECEIVER
    gwei: Ints  # the value without its last nine digits
    block: NDArray[np.int32]  # the number of blocks since the first one
    call: NDArray[np.bool_]  # whether a contract is called
    key: Key  # of the values that are drawn per row or account
    accounts: int  # their number

    @classmethod
    def of(cls, transfers: list[Transfers], key: Key, accounts: int) -> "Rows":
        """Sort transfers by time, without those after the end; transfers of one second keep their order."""
        second = np.concatenate([part.second for part in transfers])
        order = np.argsort(second, kind="stable")
        order = order[second[order] < END]
        source, target, gwei = (
            np.concatenate([getattr(part, name) for part in transfers])[order] for name in ("source", "target", "gwei")
        )
        call = np.repeat([part.call for part in transfers], [part.second.size for part in transfers])[order]
        block = ((second[order] - START) // _BLOCK_SECONDS).astype(np.int32)
        return cls(source.astype(np.int32), target.astype(np.int32), gwei, block, call, key, accounts)

    def __len__(self) -> int:
        return self.source.size

    def num_pairs(self) -> int:
        """Return the number of pairs of different accounts with a transaction."""
        between = (self.target != NO_RECEIVER) & (self.target != self.source)
        source, target = self.source[between].astype(np.int64), self.target[between].astype(np.int64)
        return int(np.unique(np.minimum(source, target) * self.accounts + np.maximum(source, target)).size)

    @cached_property
    def addresses(self) -> NDArray[np.uint8]:
        """The twenty bytes of every account's address."""
        return _bytes(self.key.fold("address"), 0, self.accounts, 20)

    @cached_property
    def nonces(self) -> NDArray[np.int32]:
        """The number of earlier transactions of the same sender."""
        order = np.argsort(self.source, kind="stable")
        sender = self.source[order]
        nonces = np.empty(sender.size, np.int32)
        nonces[order] = np.arange(sender.size) - np.searchsorted(sender, sender)
        return nonces

    @cached_property
    def block_starts(self) -> NDArray[np.int32]:
        """For each row, the first row of its block."""
        return np.searchsorted(self.block, self.block).astype(np.int32)


def table(rows: Rows, first: int, last: int) -> Any:
    """Return the rows ``first`` to ``last - 1`` with the columns of ethereum-etl's transactions and two of receipts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    part = slice(first, last)
    count = last - first
    target, gwei, call = rows.target[part], rows.gwei[part], rows.call[part]
    creation = target == NO_RECEIVER
    draws = {name: _draws(rows.key.fold(name), first, count) for name in ("gas", "price", "input", "fails", "dust")}
    price = np.exp(2.3 + 0.9 * (draws["price"] + draws["gas"] - 1)) * 1e9
    used = np.where(call, _TRANSFER_GAS + (draws["gas"] ** 3 * 300_000).astype(np.int64), _TRANSFER_GAS)
    limit = np.where(call, used + used // 4, used)
    failed = draws["fails"] < np.where(call, 0.035, 0.004)
    rounded = gwei % 10_000 == 0  # typed by a person: no digits below
    dust = np.where(rounded, 0, (draws["dust"] * 10**9).astype(np.int64))
    whole = pc.multiply(pa.array(gwei).cast(pa.decimal128(19, 0)), pa.scalar(Decimal(10**9), pa.decimal128(10, 0)))
    input_index = np.where(call, (draws["input"] * _CALLS).astype(np.int64), _CALLS)
    input_index = np.where(creation, _CALLS + 1, input_index)
    starts = rows.block_starts[part]
    origin = int(starts[0]) if count else 0
    block_hashes = _bytes(rows.key.fold("block"), origin, last - origin, 32)
    receivers = hex_text(rows.addresses[np.where(creation, 0, target)])
    empty = pa.nulls(count, pa.int64())
    columns = {
        "hash": hex_text(_bytes(rows.key.fold("hash"), first, count, 32)),
        "nonce": rows.nonces[part].astype(np.int64),
        "block_hash": hex_text(block_hashes[starts - origin]),
        "block_number": _FIRST_BLOCK + rows.block[part].astype(np.int64),
        "transaction_index": np.arange(first, last) - starts,
        "from_address": hex_text(rows.addresses[rows.source[part]]),
        "to_address": pc.if_else(pa.array(~creation), receivers, pa.scalar(None, pa.string())),
        "value": pc.add(whole, pa.array(dust).cast(pa.decimal128(19, 0))).cast(pa.decimal128(38, 0)),
        "gas": limit,
        "gas_price": price.astype(np.int64),
        "input": _INPUTS[input_index],
        "block_timestamp": START + rows.block[part].astype(np.int64) * _BLOCK_SECONDS,
        "max_fee_per_gas": empty,
        "max_priority_fee_per_gas": empty,
        "transaction_type": np.zeros(count, np.int64),
        "receipt_gas_used": np.where(failed, limit, used),
        "receipt_status": 1 - failed.astype(np.int64),
    }
    return pa.table({name: pa.array(column) for name, column in columns.items()})


def _folds(key: Key, first: int, count: int) -> NDArray[np.uint64]:
    """``key.fold(n)`` for n = first … first + count - 1."""
    return folds((key.value + GOLDEN * first) & MASK, count)


def _draws(key: Key, first: int, count: int) -> NDArray[np.float64]:
    """Return numbers in [0, 1) for ``count`` rows from ``first`` on."""
    return (_folds(key, first, count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _bytes(key: Key, first: int, count: int, width: int) -> NDArray[np.uint8]:
    """Return ``width`` random bytes for each number from ``first`` on."""
    words = -(-width // 8)
    return _folds(key, first * words, count * words).astype("<u8").view(np.uint8).reshape(count, words * 8)[:, :width]


def hex_text(rows: NDArray[np.uint8]) -> Any:
    """Return rows of bytes as an Arrow array of 0x and hexadecimal digits."""
    import pyarrow as pa

    digits = _HEX[rows].view(f"S{2 * rows.shape[1]}").ravel()
    return pa.array(np.char.add(b"0x", digits)).cast(pa.string())
