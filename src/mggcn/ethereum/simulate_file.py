"""Simulated transactions as a Parquet file with ethereum-etl's columns, written a slice at a time.

Hashes, addresses, gas and the last digits of values are functions of the seed and of a row's or an account's number,
so that the rows do not depend on how the file is cut into slices.
"""

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.ethereum.simulate_accounts import START, Ints
from mggcn.ethereum.simulate_scene import NOWHERE
from mggcn.keys import GOLDEN, MASK, Key, folds

_FIRST_BLOCK, _BLOCK_SECONDS = 778_483, 14  # the first of 2016; about what a block took then
_TRANSFER_GAS = 21_000
_HEX = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), dtype=np.uint16)
_CREATION, _PLAIN = "0x6080604052", "0x"
_CALLS = ("0xa9059cbb", "0xd0e30db0", "0x", "0x095ea7b3")


@dataclass(frozen=True)
class Rows:
    """All transactions in the order of time.

    Args:
        source: the sending account.
        target: the receiving account, or nowhere.
        gwei: the value without its last nine digits.
        block: the block, counted from the first simulated one.
        call: whether a contract is called.
        key: of everything that is drawn by row or account.
        accounts: how many accounts there are.
    """

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    gwei: Ints
    block: NDArray[np.int32]
    call: NDArray[np.bool_]
    key: Key
    accounts: int

    @classmethod
    def ordered(
        cls, source: Ints, target: Ints, gwei: Ints, second: Ints, call: NDArray[np.bool_], key: Key, accounts: int
    ) -> "Rows":
        """Put transactions into the order of time; those of one second keep the order they come in."""
        order = np.argsort(second, kind="stable")
        block = ((second - START) // _BLOCK_SECONDS).astype(np.int32)[order]
        ends = source.astype(np.int32)[order], target.astype(np.int32)[order]
        return cls(*ends, gwei[order], block, call[order], key, accounts)

    def __len__(self) -> int:
        return self.source.size

    def pairs(self) -> int:
        """How many pairs of different accounts deal with each other."""
        between = (self.target != NOWHERE) & (self.target != self.source)
        source, target = self.source[between].astype(np.int64), self.target[between].astype(np.int64)
        return int(np.unique(np.minimum(source, target) * self.accounts + np.maximum(source, target)).size)

    @cached_property
    def addresses(self) -> NDArray[np.uint8]:
        """The twenty bytes of every account's address."""
        return _bytes(self.key.fold("address"), 0, self.accounts, 20)

    @cached_property
    def nonces(self) -> NDArray[np.int32]:
        """How many transactions the sender had sent before."""
        order = np.argsort(self.source, kind="stable")
        sender = self.source[order]
        starts = np.flatnonzero(np.diff(sender, prepend=-1))
        counts = np.diff(starts, append=sender.size)
        nonces = np.empty(sender.size, np.int32)
        nonces[order] = np.arange(sender.size) - np.repeat(starts, counts)
        return nonces

    @cached_property
    def leaders(self) -> NDArray[np.int32]:
        """The first row of each row's block."""
        fresh = np.diff(self.block, prepend=-1) != 0
        return np.maximum.accumulate(np.where(fresh, np.arange(len(self)), 0)).astype(np.int32)


def schema(note: str) -> Any:
    """The columns of ethereum-etl's transactions and two of its receipts, with ``note`` as the file's metadata."""
    import pyarrow as pa

    text, number, money = pa.string(), pa.int64(), pa.decimal128(38, 0)
    columns = {
        "hash": text, "nonce": number, "block_hash": text, "block_number": number, "transaction_index": number,
        "from_address": text, "to_address": text, "value": money, "gas": number, "gas_price": number, "input": text,
        "block_timestamp": number, "max_fee_per_gas": number, "max_priority_fee_per_gas": number,
        "transaction_type": number, "receipt_gas_used": number, "receipt_status": number,
    }  # fmt: skip
    return pa.schema(list(columns.items()), metadata={"simulation": note})


def table(rows: Rows, first: int, last: int, columns: Any) -> Any:
    """The rows from ``first`` up to ``last`` as a table with the columns of :func:`schema`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    part = slice(first, last)
    count = last - first
    target, gwei, call = rows.target[part], rows.gwei[part], rows.call[part]
    creation = target == NOWHERE
    draws = {name: _draws(rows.key.fold(name), first, count) for name in ("gas", "price", "input", "fails", "dust")}
    price = np.exp(2.3 + 0.9 * (draws["price"] + draws["gas"] - 1)) * 1e9
    used = np.where(call, _TRANSFER_GAS + (draws["gas"] ** 3 * 300_000).astype(np.int64), _TRANSFER_GAS)
    limit = np.where(call, used + used // 4, used)
    failed = draws["fails"] < np.where(call, 0.035, 0.004)
    exact = gwei % 10_000 == 0  # typed by a person: no digits below
    dust = np.where(exact, 0, (draws["dust"] * 10**9).astype(np.int64))
    whole = pc.multiply(pa.array(gwei).cast(pa.decimal128(19, 0)), pa.scalar(Decimal(10**9), pa.decimal128(10, 0)))
    words = np.array([*_CALLS, _PLAIN, _CREATION])
    word = np.where(call, (draws["input"] * len(_CALLS)).astype(np.int64), len(_CALLS))
    word = np.where(creation, len(_CALLS) + 1, word)
    leaders = rows.leaders[part]
    origin = int(leaders[0]) if count else 0
    block_hashes = _bytes(rows.key.fold("block"), origin, last - origin, 32)
    receivers = _text(rows.addresses[np.where(creation, 0, target)])
    empty = pa.nulls(count, pa.int64())
    values = {
        "hash": _text(_bytes(rows.key.fold("hash"), first, count, 32)),
        "nonce": rows.nonces[part],
        "block_hash": _text(block_hashes[leaders - origin]),
        "block_number": _FIRST_BLOCK + rows.block[part].astype(np.int64),
        "transaction_index": np.arange(first, last) - leaders,
        "from_address": _text(rows.addresses[rows.source[part]]),
        "to_address": pc.if_else(pa.array(~creation), receivers, pa.scalar(None, pa.string())),
        "value": pc.add(whole, pa.array(dust).cast(pa.decimal128(19, 0))),
        "gas": limit,
        "gas_price": price.astype(np.int64),
        "input": pa.array(words).take(pa.array(word)),
        "block_timestamp": START + rows.block[part].astype(np.int64) * _BLOCK_SECONDS,
        "max_fee_per_gas": empty,
        "max_priority_fee_per_gas": empty,
        "transaction_type": np.zeros(count, np.int64),
        "receipt_gas_used": np.where(failed, limit, used),
        "receipt_status": 1 - failed.astype(np.int64),
    }
    return pa.table({name: pa.array(values[name]).cast(columns.field(name).type) for name in columns.names}).cast(
        columns
    )


def address_text(addresses: NDArray[np.uint8]) -> list[str]:
    """Addresses of twenty bytes as 0x and hexadecimal digits."""
    return ["0x" + address.tobytes().hex() for address in addresses]


def _folds(key: Key, first: int, count: int) -> NDArray[np.uint64]:
    """``key.fold(n)`` for n = first … first + count - 1."""
    return folds((key.value + GOLDEN * first) & MASK, count)


def _draws(key: Key, first: int, count: int) -> NDArray[np.float64]:
    """Numbers in [0, 1) for rows from ``first`` on."""
    return (_folds(key, first, count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _bytes(key: Key, first: int, count: int, width: int) -> NDArray[np.uint8]:
    """``width`` random bytes for each number from ``first`` on."""
    words = -(-width // 8)
    return _folds(key, first * words, count * words).astype("<u8").view(np.uint8).reshape(count, words * 8)[:, :width]


def _text(rows: NDArray[np.uint8]) -> Any:
    """Rows of bytes as an Arrow array of 0x and hexadecimal digits."""
    import pyarrow as pa

    count, width = rows.shape
    text = np.empty((count, 2 + 2 * width), np.uint8)
    text[:, :2] = np.frombuffer(b"0x", np.uint8)
    text[:, 2:] = _HEX[rows].view(np.uint8)
    offsets = np.arange(count + 1, dtype=np.int32) * text.shape[1]
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(text))
