"""The user's own columns by address, as features next to the thirteen.

A column becomes features as in other tables, see :mod:`mggcn.data._columns`: a number stays one feature, text becomes
categories, and an empty cell is marked. The cells of an account that the file does not list are empty.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow import parquet

from mggcn.data import Chunk, Column, Dataset, Encoder, FeatureTable, Table, encoding_notes, feature_names, text_of
from mggcn.errors import InputError
from mggcn.ethereum import _features as features
from mggcn.ethereum._label_lists import is_address

ADDRESS = "address"


def add_features(snapshots: Sequence[Dataset], path: Path, *, any_ids: bool) -> list[Dataset]:
    """Return data sets of accounts with the columns of a file as further features, and a note.

    Args:
        snapshots: the latest first.
        path: a table with the column address.
        any_ids: whether accounts are any text instead of addresses.
    """
    table = Table.of(path)
    table.require(ADDRESS)
    names = [name for name in table.names if name != ADDRESS]
    if not names:
        raise InputError(f"{path}: has no column but {ADDRESS}")
    for name in names:
        if name in features.NAMES:
            raise InputError(f"{path}: column {name!r} is one of the thirteen features; give it another name")
    row_of = _rows(table, path, any_ids=any_ids)
    absent = len(row_of)
    rows = [_rows_of(snapshot, row_of, absent) for snapshot in snapshots]
    num_known = int((rows[0] != absent).sum())
    if not num_known:
        raise InputError(f"{path}: none of its {absent:,} accounts has a transaction")

    def chunks() -> Iterator[Chunk]:
        yield from table.chunks(names)
        if any((of_snapshot == absent).any() for of_snapshot in rows):
            yield Chunk({name: [""] for name in names}, 1, lambda _: f"{path}: accounts that it does not list")

    encoder = Encoder(names)
    for chunk in chunks():
        encoder.survey(chunk)
    encoded = encoder.encode(chunks())
    whole = FeatureTable(encoded.x[np.concatenate(rows)], encoded.columns)
    own, notes = whole.fill(None)
    notes = [
        f"{path.name}: {num_known:,} of {rows[0].size:,} accounts, {', '.join(names)}; used as given at all dates",
        *encoding_notes(own),
        *notes,
    ]
    parts = np.split(whole.x, np.cumsum([of_snapshot.size for of_snapshot in rows])[:-1])
    encoding = (*(Column(name, "number") for name in features.NAMES), *own)
    return [
        replace(
            snapshot,
            x=np.concatenate([snapshot.x, x], axis=1),
            feature_names=feature_names(encoding),
            encoding=encoding,
            notes=(*snapshot.notes, *notes),
            mapped=None,
        )
        for snapshot, x in zip(snapshots, parts, strict=True)
    ]


def add_columns(path: Path, dataset: Dataset) -> None:
    """Add the user's features to the table of a data set's accounts, as they are in the model."""
    table = parquet.read_table(path)
    for number, name in enumerate(dataset.feature_names):
        if number >= len(features.NAMES):
            table = table.append_column(name, pyarrow.array(dataset.x[:, number]))
    parquet.write_table(table, path, compression="zstd")


def _rows(table: Table, path: Path, *, any_ids: bool) -> dict[str, int]:
    """The row of each account in a file."""
    row_of: dict[str, int] = {}
    for chunk in table.chunks([ADDRESS]):
        for row, value in enumerate(chunk.columns[ADDRESS]):
            name = text_of(value).strip()
            account = name if any_ids else name.lower()
            if not any_ids and not is_address(account):
                raise InputError(f"{chunk.at(row)}: {name[:60]!r} is not an address")
            if account in row_of:
                raise InputError(f"{chunk.at(row)}: {ADDRESS} {name!r} is listed twice")
            row_of[account] = len(row_of)
    if not row_of:
        raise InputError(f"{path}: no rows")
    return row_of


def _rows_of(dataset: Dataset, row_of: dict[str, int], absent: int) -> NDArray[np.int64]:
    names = dataset.ids_of(np.arange(dataset.num_nodes)).tolist()
    return np.array([row_of.get(name, absent) for name in names], np.int64)
