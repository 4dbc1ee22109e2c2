"""The user's columns as features of accounts, next to those that are computed from transactions.

They become features as in other tables, see :mod:`mggcn.data._columns`: a number stays one feature, text becomes
categories, and an empty cell is marked. The cells of an account that the file does not list are empty.

With a column ``as_of`` of dates, an account may have several rows: at each date of a data set, the latest row that is
not later counts. What the columns are, their categories and the means that fill empty cells then follow from the rows
that count for training, so that nothing in the training accounts depends on a later row.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path

import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow import parquet

from mggcn.data import (
    KINDS,
    Chunk,
    ColumnEncoding,
    Dataset,
    Encoder,
    InputTable,
    encoding_notes,
    feature_names,
    fill,
    ids_without_date,
    parsed,
    shown,
    text_of,
)
from mggcn.errors import InputError
from mggcn.ethereum._account_features import FORMULAS
from mggcn.ethereum._dates import parse_as_of
from mggcn.ethereum._label_lists import account_of

ADDRESS, AS_OF = "address", "as_of"
_ALLOWED = {"number": ("number", "boolean"), "boolean": ("boolean",), "date": ("date",)}


@dataclass(frozen=True)
class Snapshot:
    """Some accounts of a data set, all as of one date.

    Attributes:
        num_accounts: how many.
        until: the last second, None for the end of the transactions.
    """

    num_accounts: int
    until: int | None

    def includes(self, seconds: NDArray[np.int64]) -> NDArray[np.bool_]:
        """[n] whether times are not later."""
        return np.ones(seconds.size, bool) if self.until is None else seconds <= self.until


def add_features(dataset: Dataset, path: Path, snapshots: Sequence[Snapshot], *, any_ids: bool) -> Dataset:
    """Return a data set of accounts with the columns of a table as further features, and a note.

    Args:
        dataset: its accounts are those of the snapshots, one after the other.
        path: the table.
        snapshots: the latest first; if there are several, the training accounts are of the last.
        any_ids: accounts are any text.
    """
    table = InputTable.of(path)
    table.require(ADDRESS)
    is_dated = AS_OF in table.names
    names = [name for name in table.names if name not in (ADDRESS, AS_OF)]
    if not names:
        raise InputError(f"{path}: has no column but {ADDRESS}{f' and {AS_OF}' * is_dated}")
    for name in names:
        if name in FORMULAS:
            raise InputError(f"{path}: column {name!r} is one of the features of accounts; give it another name")
    if len(snapshots) > 1 and not is_dated:
        raise InputError(
            f"{path}: a split by time needs a column {AS_OF!r} with the date of each row, else accounts have features "
            "of later dates"
        )
    chunks = list(table.chunks(table.names))
    seconds = _seconds(chunks) if is_dated else np.zeros(sum(chunk.num_rows for chunk in chunks), np.int64)
    listed = _listed(chunks, seconds, any_ids=any_ids, is_dated=is_dated)
    if not listed:
        raise InputError(f"{path}: no rows")
    absent = seconds.size
    rows = _rows(dataset, snapshots, listed, absent)
    num_known = int((rows[: dataset.num_current] != absent).sum())
    if not num_known:
        until = " as of its date" if is_dated else ""
        raise InputError(f"{path}: none of its {len(listed):,} accounts has a transaction{until}")
    is_fitted = snapshots[-1].includes(seconds)
    if not is_fitted.any():
        raise InputError(f"{path}: no row is as of the date of the training accounts or earlier")
    missing = Chunk({name: [""] for name in names}, 1, lambda _: f"{path}: accounts that it does not list")
    fillers = [missing] if is_dated or (rows == absent).any() else []
    encoder = Encoder(names)
    for chunk in [*_selected(chunks, is_fitted), *fillers]:
        encoder.add(chunk)
    is_used = snapshots[0].includes(seconds)
    for chunk in _selected(chunks, is_used & ~is_fitted):
        _check_kinds(chunk, encoder.columns)
    encoded = np.concatenate(list(encoder.rows([*_selected(chunks, is_used), *fillers])))
    own = encoded[np.append(np.cumsum(is_used) - 1, len(encoded) - 1)[rows]]
    train = np.arange(dataset.num_nodes - snapshots[-1].num_accounts, dataset.num_nodes) if len(snapshots) > 1 else None
    columns, notes = fill(lambda: [own], encoder.columns, train)
    of = f"{num_known:,} of {dataset.num_current:,} accounts"
    encoding = (*(ColumnEncoding(name, "number") for name in dataset.feature_names), *columns)
    how = "the latest row as of each date" if is_dated else "used as given"
    return replace(
        dataset,
        x=np.concatenate([dataset.x, own], axis=1),
        feature_names=feature_names(encoding),
        encoding=encoding,
        notes=(*dataset.notes, f"{path.name}: {of}, {', '.join(names)}; {how}", *encoding_notes(columns), *notes),
        mapped=None,
    )


def add_columns(path: Path, dataset: Dataset) -> None:
    """Add the user's features to the table of a data set's accounts, as they are in the model."""
    table = parquet.read_table(path)
    for number, name in enumerate(dataset.feature_names):
        if name in FORMULAS:
            continue
        table = table.append_column(name, pyarrow.array(dataset.x[: dataset.num_current, number]))
    parquet.write_table(table, path, compression="zstd")


def _seconds(chunks: Iterable[Chunk]) -> NDArray[np.int64]:
    """[n] the last second of the date of each row."""
    times = []
    for chunk in chunks:
        for row, value in enumerate(chunk.columns[AS_OF]):
            times.append(parse_as_of(text_of(value), f"{chunk.at(row)}: column {AS_OF!r}"))
    return np.array(times, np.int64)


def _listed(
    chunks: Iterable[Chunk], seconds: NDArray[np.int64], *, any_ids: bool, is_dated: bool
) -> dict[str, list[tuple[int, int]]]:
    """The times and numbers of the rows of each account, in the order of the times."""
    listed: dict[str, list[tuple[int, int]]] = {}
    number = 0
    for chunk in chunks:
        for row, value in enumerate(chunk.columns[ADDRESS]):
            text, time = text_of(value), int(seconds[number])
            others = listed.setdefault(account_of(text, chunk.at(row), any_ids=any_ids), [])
            if any(time == other for other, _ in others):
                date = f" as of {text_of(chunk.columns[AS_OF][row])}" if is_dated else ""
                raise InputError(f"{chunk.at(row)}: {ADDRESS} {text!r} is listed twice{date}")
            others.append((time, number))
            number += 1
    for rows in listed.values():
        rows.sort()
    return listed


def _rows(
    dataset: Dataset, snapshots: Sequence[Snapshot], listed: dict[str, list[tuple[int, int]]], absent: int
) -> NDArray[np.int64]:
    """[num_nodes] the number of the row of each account, ``absent`` if it has none as of its date."""
    accounts, rows = ids_without_date(dataset, np.arange(dataset.num_nodes)).tolist(), []
    start = 0
    for snapshot in snapshots:
        for account in accounts[start : start + snapshot.num_accounts]:
            of_account = listed.get(account, [])
            count = len(of_account)
            if snapshot.until is not None:
                count = bisect_right(of_account, snapshot.until, key=itemgetter(0))
            rows.append(of_account[count - 1][1] if count else absent)
        start += snapshot.num_accounts
    return np.array(rows, np.int64)


def _selected(chunks: Iterable[Chunk], is_kept: NDArray[np.bool_]) -> Iterator[Chunk]:
    """Only some rows of chunks."""
    start = 0
    for chunk in chunks:
        kept = np.flatnonzero(is_kept[start : start + chunk.num_rows])
        start += chunk.num_rows
        columns = {
            name: cells[kept] if isinstance(cells, np.ndarray) else [cells[row] for row in kept.tolist()]
            for name, cells in chunk.columns.items()
        }
        yield Chunk(columns, kept.size, lambda row, at=chunk.at, kept=kept: at(int(kept[row])))  # type: ignore[misc]


def _check_kinds(chunk: Chunk, columns: Sequence[ColumnEncoding]) -> None:
    """Raise InputError for a cell that is not what the column is by the rows of training."""
    for column in columns:
        if column.kind == "category":
            continue
        cells = chunk.columns[column.name]
        kinds, _ = parsed(cells)
        allowed = [KINDS.index(kind) for kind in ("empty", *_ALLOWED[column.kind])]
        for row in np.flatnonzero(~np.isin(kinds, allowed)).tolist():
            problem = f"{shown(cells[row])} is not a {column.kind}, as in earlier rows"
            raise InputError(f"{chunk.at(row)}: column {column.name!r}: {problem}")
