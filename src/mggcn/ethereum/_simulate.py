"""A simulated Ethereum: transactions of agents that behave like the paper's six classes, and the labels of some.

The paper's data were never published. The simulation replaces them in size and shape, so that the whole workflow can be
tried and timed; a figure measured on it says something about the simulation only. The file is marked as simulated in
its metadata, which :func:`is_simulated` reads. Not modelled: an account may spend more than it received, as in a crawl
of a part of the chain; there are no token transfers and no internal transactions.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from mggcn._io import regular
from mggcn._io.files import check_file_free
from mggcn.errors import InputError, require
from mggcn.ethereum._label_lists import write_csv
from mggcn.ethereum._simulate_behaviours import BEHAVIOURS
from mggcn.ethereum._simulate_rows import Rows, hex_text, table
from mggcn.ethereum._simulate_world import CLASSES, Accounts, Transfers, World, draw_lifetimes
from mggcn.keys import Key

_LEAST_SCALE, _LARGEST_SCALE = 0.001, 100.0
_SUFFIXES = (".parquet", ".pq")


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
    draft = out.with_name(f".{out.name}.draft")
    try:
        with pq.ParquetWriter(draft, schema, compression="zstd") as file:
            for first in range(0, len(rows), slice_rows):
                last = min(first + slice_rows, len(rows))
                file.write_table(table(rows, first, last).cast(schema))
                on_progress(last, len(rows))
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        addresses = {name: hex_text(rows.addresses[accounts.groups[name]]).to_pylist() for name in CLASSES}
        labelled = [(address, name) for name in CLASSES for address in addresses[name]]
        write_csv(labels, ("address", "label"), labelled)
        draft.replace(out)
    finally:
        draft.unlink(missing_ok=True)
    sizes = {name: accounts.groups[name].size for name in CLASSES}
    return Simulation(len(rows), accounts.total, rows.num_pairs(), sizes)


def is_simulated(file: str | Path | IO[bytes]) -> bool:
    """Return whether a file, opened or not, is Parquet whose metadata marks it as simulated."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return b"simulation" in (pq.read_metadata(file).metadata or {})
    except (pa.ArrowException, OSError):
        return False
