"""A simulated Ethereum: transactions of agents that behave like the paper's six classes, and the labels of some.

The paper's data were never published. The simulation replaces them in size and shape, so that the whole workflow can be
tried and timed; a figure measured on it says something about the simulation only. The file is marked as simulated in
its metadata, which :func:`is_simulated` reads. Not modelled: an account may spend more than it received, as in a crawl
of a part of the chain; there are no token transfers and no internal transactions.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn._io import regular
from mggcn._io.files import check_file_free
from mggcn._io.locations import Location
from mggcn._io.temporary import temporary_file
from mggcn.errors import InputError, require
from mggcn.ethereum._labels import write_csv
from mggcn.ethereum._simulate_world import (
    BEHAVIOURS,
    CLASSES,
    END,
    NO_RECEIVER,
    START,
    Accounts,
    Ints,
    Transfers,
    World,
    draw_lifetimes,
)
from mggcn.keys import GOLDEN, MASK, Key, folds

_LEAST_SCALE, _LARGEST_SCALE = 0.001, 100.0
_SUFFIXES = (".parquet", ".pq")
_FIRST_BLOCK, _BLOCK_SECONDS = 778_483, 14  # the first block of 2016; the mean time per block then
_TRANSFER_GAS = 21_000
_HEX = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), dtype=np.uint16)
_CALLS = 4
_INPUTS = np.array(["0xa9059cbb", "0xd0e30db0", "0x", "0x095ea7b3", "0x", "0x6080604052"])
"""The inputs of calls, then that of a transfer and the start of a contract's code."""


@dataclass(frozen=True)
class Simulation:
    """The size of a simulated chain.

    Args:
        transactions: the number of rows.
        accounts: the number of accounts.
        edges: the number of pairs of different accounts with a transaction.
        labels: the number of labelled accounts of each class.
    """

    transactions: int
    accounts: int
    edges: int
    labels: dict[str, int]


def simulate(
    out: Path,
    *,
    labels: Path,
    scale: float = 1.0,
    seed: int = 0,
    overwrite: bool = False,
    slice_rows: int = 200_000,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Simulation:
    """Write simulated transactions and labels.

    Args:
        out: a Parquet file, named .parquet or .pq, with the columns of ethereum-etl's transactions and the columns
            ``receipt_gas_used`` and ``receipt_status`` of its receipts.
        labels: the CSV file of labelled accounts, with the columns ``address`` and ``label``.
        scale: 1 is the size of the paper's data: 1.4 million accounts, 2.8 million edges, 816 labels.
        seed: the same seed and scale give the same rows.
        overwrite: replace existing files.
        slice_rows: the number of rows written at a time; it limits the memory and does not change the file's rows.
        on_progress: called with the number of rows written and their total.
    """
    require("pyarrow", "ethereum")
    import pyarrow.parquet as pq

    if out.suffix.lower() not in _SUFFIXES:
        raise InputError(f"{out}: transactions are written as Parquet, to a file named {' or '.join(_SUFFIXES)}")
    if regular.real(labels) == regular.real(out):
        raise InputError(f"{labels}: transactions and labels cannot be one file")
    for path in (out, labels):
        check_file_free(path, overwrite=overwrite)
    if not _LEAST_SCALE <= scale <= _LARGEST_SCALE:
        raise InputError(f"scale: {scale} is not between {_LEAST_SCALE} and {_LARGEST_SCALE:g}")
    key = Key.of(seed).fold("ethereum")
    accounts = Accounts.draw(scale, key.fold("accounts").generator())
    exchanges = draw_lifetimes(key.fold("desks").generator(), accounts.popularity.size, 300)
    transfers: list[Transfers] = []
    for name, behaviour in BEHAVIOURS.items():
        transfers += behaviour(World(accounts, exchanges, scale, key.fold(name).generator()))
    rows = Rows.of(transfers, key.fold("rows"), accounts.total)
    note = f"not real transactions: mggcn ethereum simulate, scale {scale:g}, seed {seed}"
    schema = table(rows, 0, 0).schema.with_metadata({"simulation": note})
    out.parent.mkdir(parents=True, exist_ok=True)
    with temporary_file(out) as temporary:
        with pq.ParquetWriter(temporary, schema, compression="zstd") as file:
            for first in range(0, len(rows), slice_rows):
                last = min(first + slice_rows, len(rows))
                file.write_table(table(rows, first, last).cast(schema))
                on_progress(last, len(rows))
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        addresses = {name: hex_text(rows.addresses[accounts.groups[name]]).to_pylist() for name in CLASSES}
        labelled = [(address, name) for name in CLASSES for address in addresses[name]]
        write_csv(labels, ("address", "label"), labelled)
        temporary.replace(out)
    sizes = {name: accounts.groups[name].size for name in CLASSES}
    return Simulation(len(rows), accounts.total, rows.num_pairs(), sizes)


def is_simulated(file: Location) -> bool:
    """Return whether a file is Parquet whose metadata marks it as simulated."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with file.open() as opened:
        try:
            return b"simulation" in (pq.read_metadata(opened).metadata or {})
        except (pa.ArrowException, OSError):
            return False


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
