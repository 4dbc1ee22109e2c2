"""A simulated Ethereum: transactions of agents that behave like the paper's six classes, and the labels of some.

The paper's data were never published. This stands in for them in size and shape, so that the whole path can be tried
and timed; a figure measured on it is a figure about the simulation. The file says so in its metadata, which
:func:`is_simulated` reads. What it does not model: an account may spend more than it was seen to receive, as in a
crawl that sees part of the chain; there are no token transfers and no internal transactions.
"""

import csv
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mggcn.errors import InputError
from mggcn.ethereum import require
from mggcn.ethereum.simulate_accounts import CLASSES, END, Accounts, Ints
from mggcn.ethereum.simulate_agents import BEHAVIOURS
from mggcn.ethereum.simulate_file import Rows, address_text, schema, table
from mggcn.ethereum.simulate_scene import Scene, Transfers, lives
from mggcn.keys import Key
from mggcn.storage import check_file_free, write_atomically

SLICE = 200_000
_LEAST, _MOST = 0.001, 100.0
_SUFFIXES = (".parquet", ".pq")


@dataclass(frozen=True)
class Simulation:
    """What was written.

    Args:
        transactions: how many rows.
        accounts: how many accounts there are.
        edges: how many pairs of different accounts deal with each other.
        labels: labelled accounts by class.
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
    slice_rows: int = SLICE,
    follow: Callable[[int, int], None] = lambda _done, _total: None,
) -> Simulation:
    """Write simulated transactions and labels.

    Args:
        out: the Parquet file, named so, with the columns of ethereum-etl's transactions and ``receipt_gas_used`` and
            ``receipt_status`` of its receipts.
        labels: the CSV file of labelled accounts, columns ``address`` and ``label``.
        scale: 1 has the size of the paper's data: 1.4 million accounts, 2.8 million edges, 816 labels.
        seed: of everything random; the same seed and scale give the same rows.
        overwrite: replace existing files.
        slice_rows: how many rows are turned into text at a time, which bounds the memory and changes nothing else.
        follow: is told how many rows are written, of how many.
    """
    require("pyarrow", "ethereum")
    import pyarrow.parquet as pq

    if out.suffix.lower() not in _SUFFIXES:
        raise InputError(f"{out}: transactions are written as Parquet, to a file named {' or '.join(_SUFFIXES)}")
    if labels.resolve() == out.resolve():
        raise InputError(f"{labels}: transactions and labels cannot be one file")
    for path in (out, labels):
        check_file_free(path, overwrite=overwrite)
    if not _LEAST <= scale <= _MOST:
        raise InputError(f"scale: {scale} is not between {_LEAST} and {_MOST:g}")
    key = Key.of(seed).fold("ethereum")
    accounts = Accounts.of(scale, key.fold("accounts").generator())
    rows = _rows(accounts, scale, key)
    columns = schema(f"not real transactions: mggcn ethereum simulate, scale {scale:g}, seed {seed}")
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = out.with_name(f".{out.name}.draft")
    try:
        with pq.ParquetWriter(draft, columns, compression="zstd") as file:
            for first in range(0, len(rows), slice_rows):
                last = min(first + slice_rows, len(rows))
                file.write_table(table(rows, first, last, columns))
                follow(last, len(rows))
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        write_atomically(labels, _labels(accounts, rows))
        draft.replace(out)
    finally:
        draft.unlink(missing_ok=True)
    labelled = {name: accounts.groups[name].size for name in CLASSES}
    return Simulation(len(rows), accounts.total, rows.pairs(), labelled)


def is_simulated(path: str | Path) -> bool:
    """Whether a file of transactions is a simulation: Parquet whose metadata holds ``simulation``."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return b"simulation" in (pq.read_metadata(path).metadata or {})
    except (pa.ArrowException, OSError):
        return False


def _rows(accounts: Accounts, scale: float, key: Key) -> Rows:
    flows: list[Transfers] = []
    desks = lives(key.fold("desks").generator(), accounts.fame.size, 300)
    for name, behaviour in BEHAVIOURS.items():
        flows += behaviour(Scene(accounts, desks, scale, key.fold(name).generator()))
    second: Ints = np.concatenate([flow.second for flow in flows])
    kept = second < END
    calls = np.repeat([flow.call for flow in flows], [flow.second.size for flow in flows])
    source, target, gwei = (
        np.concatenate([getattr(flow, name) for flow in flows])[kept] for name in ("source", "target", "gwei")
    )
    return Rows.ordered(source, target, gwei, second[kept], calls[kept], key.fold("rows"), accounts.total)


def _labels(accounts: Accounts, rows: Rows) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("address", "label"))
    for name in CLASSES:
        writer.writerows((address, name) for address in address_text(rows.addresses[accounts.groups[name]]))
    return text.getvalue().encode()
