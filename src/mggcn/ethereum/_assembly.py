"""From the stages ``features`` and ``links`` to the arrays and tables of a dataset folder, and the disk they need.

Stages consist of groups of few rows, in one file or in many. Threads convert some groups at a time; results come in the
order of the rows, so that they are appended where they belong, and no list grows with the data.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import ibis
import numpy as np
import pyarrow
import pyarrow.compute
from numpy.typing import NDArray
from pyarrow import ArrowException, parquet

from mggcn._io.locations import Location
from mggcn._io.mapping import MappedRows
from mggcn._io.memory import disk, size
from mggcn.data import BACKGROUND, UNLABELLED, CsrWriter, FolderWriter, Split, check_finite, draw_background
from mggcn.errors import InputError, prefix_errors
from mggcn.ethereum import _account_features as features
from mggcn.ethereum._build_files import is_parquet
from mggcn.ethereum._engines import stage_files
from mggcn.ethereum._formats import INT, TEXT, TYPES, WEI
from mggcn.ethereum._stages import STAGES
from mggcn.ethereum._verdicts import InForce
from mggcn.kernels.threads import available

ACCOUNTS, EDGES, TRANSFERS = "accounts.parquet", "edges.parquet", "transfers.parquet"
_GATHERED = 1 << 8  # addresses that are read from the disk at a time; the system maps up to 16 pages for each
_SHARES = (0.7, 0.1, 0.2)  # of train, val and test, as in the paper
_ENDS = {"from_address": "node", "to_address": "other"}
_EDGE_TABLE = {
    "node": ("src", INT),
    "other": ("dst", INT),
    "out_count": ("count", INT),
    "out_wei": ("value_wei", WEI),
    "out_first": ("first_time", INT),
    "out_last": ("last_time", INT),
    "fee": ("fee_wei", WEI),
}
"""The columns of ``edges.parquet`` after the addresses of its ends, by the column of ``links`` each comes from."""
T = TypeVar("T")
R = TypeVar("R")

_ROWS = 1 << 16  # of a group in a table, and of those converted at a time
_FOLDER_BYTES = 150
_STAGE_BYTES = {"duckdb": 200, "spark": 400}
"""Of a row; what ``benchmarks/scale.py spark`` measures, rounded up. Spark's include what it shuffles."""
_TEXT_ROW_BYTES, _PACKED_ROW_BYTES = 250, 100  # of a row of CSV or JSON, as it is and compressed


@dataclass(frozen=True)
class Assembled:
    """Whose labels a data set has.

    Attributes:
        num_labelled: the number of accounts of the file of labels that have a transaction.
        background: the accounts that were drawn for the class Background.
    """

    num_labelled: int
    background: tuple[str, ...]


def assemble(
    folder: FolderWriter,
    work: Location,
    labels: Mapping[str, str],
    background: int,
    verdicts: InForce | None = None,
    *,
    name: str,
    source: str,
    seed: int,
    notes: Sequence[str] = (),
    is_split: bool = True,
    roles: bool = True,
    types: Sequence[str] = (),
    unit: str = "ether",
    decimals: int = 18,
) -> Assembled:
    """Write the data set with a stratified split of its labelled accounts, and the tables beside it.

    Edges have the types that are named in ``types``; ``unit`` is that of values, which are stored with so many
    ``decimals``. Features of accounts are thirteen, and with ``roles`` two more. There is no split if ``labels``, the
    class of each account, is empty, or if it is split later. Classes without an account in ``labels`` are left out.
    Which classes there are, and which accounts are drawn for Background, does not depend on what ``verdicts`` say; with
    verdicts there always is a class Background, the last one. Each stage is removed from ``work`` once it is read.
    """
    names = [*sorted({*labels.values()} - {BACKGROUND}), BACKGROUND]
    judged = {} if verdicts is None else {account: one.outcome for account, one in verdicts.verdicts.items()}
    of_accounts = features.THIRTEEN + (features.ROLE_FEATURES if roles else ())
    labelled = _write_accounts(folder, work, labels, judged, names, of_accounts, decimals)
    _write_graph(folder, work, types, decimals)
    if types:
        _write_transfers(folder, work)
    y = np.load(folder.path / "y.npy", mmap_mode="r+")
    is_member = y[labelled] != len(names) - 1
    present = np.unique(y[labelled][is_member]).tolist()
    classes = [names[number] for number in present]
    y[labelled[is_member]] = np.searchsorted(present, y[labelled[is_member]])
    y[labelled[~is_member]] = len(classes)
    ids, drawn = np.load(folder.path / "ids.npy", mmap_mode="r"), np.empty(0, np.int64)
    if background and is_member.any():
        indptr = np.load(folder.path / "indptr.npy", mmap_mode="r")
        drawn = np.setdiff1d(draw_background(indptr, labelled[is_member], background, seed, ids), labelled)
        y[drawn] = len(classes)
    if drawn.size or not is_member.all() or verdicts is not None:
        classes.append(BACKGROUND)
    nodes, outcomes = _judged(ids, judged, classes, verdicts.file if verdicts else "")
    y[nodes] = outcomes
    all_labelled = np.unique(np.concatenate([labelled, drawn, nodes]))
    all_labelled = all_labelled[y[all_labelled] != UNLABELLED]
    y.flush()
    folder.finish(
        name,
        classes,
        split=_split(all_labelled, y[all_labelled], classes, seed) if labels and is_split else None,
        source=source,
        id_name="address",
        feature_names=of_accounts,
        measures={name: measure for name, measure in features.measures_in(unit).items() if name in of_accounts},
        edge_types=types,
        notes=[*notes, verdicts.note(nodes.size)] if verdicts else notes,
    )
    return Assembled(labelled.size, tuple(_addresses(ids, drawn).to_pylist()))


def _judged(
    ids: NDArray[Any], judged: Mapping[str, str | None], classes: Sequence[str], file: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The accounts with verdicts that have a transaction, and the number of the class of each by its verdict."""
    nodes, outcomes = [], []
    for account, label in judged.items():
        if label is not None and label not in classes:
            raise InputError(
                f"{file}: {account} is confirmed as {label}, a class of which no account has a transaction"
            )
        name = np.array(account.encode() if ids.dtype.kind == "S" else account)
        node = int(np.searchsorted(ids, name))
        if node < ids.size and ids[node] == name:
            nodes.append(node)
            outcomes.append(UNLABELLED if label is None else classes.index(label))
    return np.array(nodes, np.int64), np.array(outcomes, np.int64)


def _write_accounts(
    folder: FolderWriter,
    work: Location,
    labels: Mapping[str, str],
    judged: Mapping[str, str | None],
    names: Sequence[str],
    of_accounts: Sequence[str],
    decimals: int,
) -> NDArray[np.int64]:
    """Write ids, features, labels and the stage ``features`` as a table; return the numbers of labelled accounts.

    A label is written as its position in ``names``; the table has the outcomes of verdicts instead.
    """
    files = stage_files(work, "features")
    ids = folder.array("ids", _id_type(files))
    x, y = folder.array("x", np.float32, (len(of_accounts),)), folder.array("y", np.int64)
    number_of = {name: number for number, name in enumerate(names)}
    known = pyarrow.array(list(labels), pyarrow.string())
    numbers = pyarrow.array([number_of[name] for name in labels.values()], pyarrow.int64())
    shown = {**labels, **judged}
    shown_known, texts = (pyarrow.array(list(part), pyarrow.string()) for part in (shown, shown.values()))
    nodes = [np.empty(0, np.int64)]

    def convert(batch: Any, first_row: int) -> tuple[Any, ...]:
        rows = features.matrix(batch, 10**decimals, roles=features.ROLE_FEATURES[0] in of_accounts)
        check_finite(rows, first_row)
        label = numbers.take(pyarrow.compute.index_in(batch["address"], value_set=known))
        table = [*batch.columns, texts.take(pyarrow.compute.index_in(batch["address"], value_set=shown_known))]
        return first_row, _fixed(batch["address"], ids.dtype), rows, label.fill_null(UNLABELLED).to_numpy(), table

    def table() -> Iterator[Sequence[Any]]:
        for first_row, addresses, rows, label, columns in over_rows(files, convert):
            ids.append(addresses)
            x.append(rows)
            y.append(label)
            nodes.append(first_row + np.flatnonzero(label != UNLABELLED))
            yield columns

    write_table(folder.path / ACCOUNTS, STAGES["features"] | {"label": TEXT}, table())
    ids.close()
    y.close()
    folder.add_table(ACCOUNTS, folder.path / ACCOUNTS)
    (work / "features").remove()
    return np.concatenate(nodes)


def _id_type(files: Sequence[Location]) -> np.dtype[Any]:
    """The type of the longest address: bytes if all are ASCII, else text."""

    def survey(batch: Any, _: int) -> tuple[int, bool]:
        length = pyarrow.compute.max(pyarrow.compute.utf8_length(batch["address"])).as_py()
        return length, pyarrow.compute.all(pyarrow.compute.string_is_ascii(batch["address"])).as_py()

    lengths, are_ascii = zip(*over_rows(files, survey, ["address"]), strict=True)
    return np.dtype(f"{'S' if all(are_ascii) else 'U'}{max(1, *lengths)}")


def _fixed(column: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Text as an array of values of equal length."""
    if dtype.kind != "S":
        return np.array(column.to_pylist(), dtype)
    padded = pyarrow.compute.ascii_rpad(column, dtype.itemsize, padding="\0")
    return np.frombuffer(padded.buffers()[2], dtype, len(column))


def _write_graph(folder: FolderWriter, work: Location, types: Sequence[str], decimals: int) -> None:
    """Write the graph and its edge attributes from the sorted stage ``links``, and the directed edges as a table."""
    ids = np.load(folder.path / "ids.npy", mmap_mode="r")
    graph = CsrWriter(folder, folder.num_rows("ids"), has_numbers=bool(types))
    numbers = ["count", "first", "last", *(f"{name}_count" for name in types if name != "transaction")]
    amounts = {"value": "out_wei"} | ({"internal_value": "out_internal_wei"} if "internal" in types else {})
    attributes = {name: folder.array(f"edge_{name}", np.int64) for name in numbers}
    attributes |= {name: folder.array(f"edge_{name}", np.float64) for name in amounts}

    def convert(batch: Any, _: int) -> tuple[Any, ...]:
        pairs = batch.filter(pyarrow.compute.not_equal(batch["node"], batch["other"]))
        values = {name: pairs[f"out_{name}"].to_numpy() for name in numbers}
        values |= {name: features.quotient(pairs[wei], unit=10**decimals) for name, wei in amounts.items()}
        edges = pairs.filter(pyarrow.compute.greater(pairs["out_count"], 0))
        ends = [_addresses(ids, edges[end].to_numpy()) for end in _ENDS.values()]
        table = [*ends, *(edges[name] for name in _EDGE_TABLE)]
        nodes, others, number = pairs["node"].to_numpy(), pairs["other"].to_numpy(), None
        if types:
            rows, positions = np.nonzero(np.column_stack([pairs[name].to_numpy() for name in types]))
            nodes, others, number = nodes[rows], others[rows], positions.astype(np.uint16)
        return nodes, others, number, values, table

    def table() -> Iterator[Sequence[Any]]:
        for nodes, others, number, values, columns in over_rows(stage_files(work, "links"), convert):
            graph.append(nodes, others, number)
            for name, column in values.items():
                attributes[name].append(column)
            yield columns

    write_table(folder.path / EDGES, dict.fromkeys(_ENDS, TEXT) | dict(_EDGE_TABLE.values()), table())
    graph.close()
    folder.add_table(EDGES, folder.path / EDGES)
    (work / "links").remove()


def _write_transfers(folder: FolderWriter, work: Location) -> None:
    """Write the sorted stage ``transfers``, the amounts of each type and token on their own, as a table."""
    ids = np.load(folder.path / "ids.npy", mmap_mode="r")
    names = pyarrow.array(TYPES, pyarrow.string())
    columns = {"count": INT, "amount": WEI, "first_time": INT, "last_time": INT}

    def convert(batch: Any, _: int) -> list[Any]:
        ends = [_addresses(ids, batch[end].to_numpy()) for end in ("src", "dst")]
        return [
            *ends,
            names.take(batch["type"]),
            *(batch[name] for name in ("token", "count", "amount", "first", "last")),
        ]

    types = dict.fromkeys((*_ENDS, "type", "token"), TEXT) | columns
    write_table(folder.path / TRANSFERS, types, over_rows(stage_files(work, "transfers"), convert))
    folder.add_table(TRANSFERS, folder.path / TRANSFERS)
    (work / "transfers").remove()


def _addresses(ids: NDArray[Any], nodes: NDArray[np.int64]) -> Any:
    """The addresses of accounts as a column of text; only few pages of the mapped ``ids`` are kept in memory."""
    rows, kind = MappedRows.of(ids), pyarrow.binary() if ids.dtype.kind == "S" else pyarrow.string()
    parts = [pyarrow.array([], kind)]
    for start in range(0, nodes.size, _GATHERED):
        parts.append(pyarrow.array(np.asarray(ids[nodes[start : start + _GATHERED]]), kind))
        if rows is not None:
            rows.release()
    return pyarrow.concat_arrays(parts).cast(pyarrow.string())


def _split(nodes: NDArray[np.int64], y: NDArray[np.int64], classes: Sequence[str], seed: int) -> Split:
    counts = ", ".join(f"{name} {np.sum(y == number)}" for number, name in enumerate(classes)) or "none"
    with prefix_errors(f"too few labelled accounts have a transaction ({counts}) for a 7:1:2 split"):
        split = Split.stratified(y, seed, _SHARES)
    return Split(*(nodes[part] for part in split.parts().values()), seed=seed, shares=split.shares)


def over_rows(
    files: Sequence[Location], convert: Callable[[Any, int], R], columns: list[str] | None = None
) -> Iterator[R]:
    """Call ``convert(batch, first_row)`` for all rows of Parquet files; yield the results in the order of the rows."""

    def batches() -> Iterator[tuple[Any, int]]:
        first_row = 0
        for file in files:
            with file.open() as opened:
                for batch in parquet.ParquetFile(opened).iter_batches(_ROWS, columns=columns):
                    yield batch, first_row
                    first_row += batch.num_rows

    return in_order(lambda batch: convert(*batch), batches())


def in_order(function: Callable[[T], R], items: Iterable[T], threads: int = 0) -> Iterator[R]:
    """Call a function for all items on threads, one for each core if 0, and yield the results in their order."""
    threads = threads or available()
    with ThreadPoolExecutor(threads) as pool:
        pending: deque[Future[R]] = deque()
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) > threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def write_table(path: Path, types: Mapping[str, str], parts: Iterable[Sequence[Any]]) -> None:
    """Write a Parquet file in groups of equally many rows, so that its bytes depend on its rows only."""
    schema = ibis.schema(types).to_pyarrow()
    waiting = schema.empty_table()
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for columns in parts:
            waiting = pyarrow.concat_tables([waiting, pyarrow.Table.from_arrays(columns, schema=schema)])
            while waiting.num_rows >= _ROWS:
                writer.write_table(waiting.slice(0, _ROWS).combine_chunks(), row_group_size=_ROWS)
                waiting = waiting.slice(_ROWS)
                # pyarrow otherwise keeps several times what it uses, for each thread
                pyarrow.default_memory_pool().release_unused()
        if waiting.num_rows:
            writer.write_table(waiting.combine_chunks(), row_group_size=_ROWS)


def require_space(files: Sequence[Location], engine: str, num_folders: int, out: Path, stages: Path | None) -> str:
    """Raise InputError if a disk of this machine is too small for a build; return what it needs, about.

    A data set that is joined from others needs several folders. ``stages`` is None if they are not on this machine.
    """
    rows = sum(map(num_rows, files))
    needs = {"stages": rows * _STAGE_BYTES[engine], "the data set": rows * _FOLDER_BYTES * num_folders}
    shares = [(out, needs["the data set"])] + ([(stages, needs["stages"])] if stages else [])
    for folder, _ in shares:
        device, free = disk(folder)
        needed = sum(share for other, share in shares if disk(other)[0] == device)
        if needed > free:
            raise InputError(f"{folder}: {rows:,} rows need about {size(needed)} of disk, and {size(free)} are free")
    parts = ", ".join(f"{size(needed)} for {what}" for what, needed in needs.items())
    return f"{rows:,} rows need about {size(sum(needs.values()))} of disk: {parts}"


def num_rows(file: Location) -> int:
    """The number of rows of a Parquet file; about that of a text file."""
    if not is_parquet(file):
        return file.num_bytes() // (_PACKED_ROW_BYTES if file.suffix.lower() == ".gz" else _TEXT_ROW_BYTES)
    with file.open() as opened:
        try:
            return int(parquet.read_metadata(opened).num_rows)
        except (ArrowException, OSError):  # reported when the file is read
            return 0
