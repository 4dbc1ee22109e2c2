"""From the stages ``features`` and ``links`` to the arrays and tables of a dataset folder, and the disk they need.

Stages consist of groups of few rows, in one file or in many. Threads read and convert some groups at a time; results
come in the order of the rows, so that they are appended where they belong, and no array or list grows with the data.
"""

import shutil
import zlib
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

from mggcn._io.locations import Location, Source
from mggcn._io.mapping import MappedRows
from mggcn._io.memory import size
from mggcn._io.stages import stage_files
from mggcn.data import (
    BACKGROUND,
    UNLABELLED,
    CsrWriter,
    FolderWriter,
    Split,
    check_finite,
    draw_background,
)
from mggcn.errors import InputError
from mggcn.ethereum import _features as features
from mggcn.ethereum._columns import INT, TEXT, WEI
from mggcn.ethereum._table_files import is_parquet, num_bytes, open_bytes
from mggcn.ethereum._tables import FEATURES
from mggcn.kernels.threads import available

ACCOUNTS, EDGES = "accounts.parquet", "edges.parquet"
_BLOCK = 1 << 20  # accounts whose labels are written at a time
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

_ROWS = 1 << 16  # of a group in a table
_FOLDER_BYTES = 150
_STAGE_BYTES = {"duckdb": 200, "spark": 400}
"""Of a row; what ``benchmarks/scale.py spark`` measures, rounded up. Spark's include what it shuffles."""
_SAMPLE = 1 << 20  # bytes of a text file in which rows are counted
_GZIP = 31  # what zlib calls the format


@dataclass(frozen=True)
class Labelled:
    """The labelled accounts: their numbers in increasing order, the class number of each, and the classes."""

    nodes: NDArray[np.int64]
    y: NDArray[np.int64]
    classes: tuple[str, ...]

    @property
    def num_background(self) -> int:
        """How many are in the class Background."""
        return int(np.sum(self.y == self.classes.index(BACKGROUND))) if BACKGROUND in self.classes else 0

    def blocks(self, num_nodes: int) -> Iterator[NDArray[np.int64]]:
        """The class numbers of all accounts, some at a time."""
        for start in range(0, num_nodes, _BLOCK):
            stop = min(start + _BLOCK, num_nodes)
            inside = slice(*np.searchsorted(self.nodes, [start, stop]))
            y = np.full(stop - start, UNLABELLED, np.int64)
            y[self.nodes[inside] - start] = self.y[inside]
            yield y

    def with_background(self, indptr: NDArray[np.int64], count: int, seed: int) -> "Labelled":
        """Add unlabelled accounts with similar degrees as a class."""
        drawn = draw_background(indptr, self.nodes, count, seed)
        nodes = np.concatenate([self.nodes, drawn])
        order = np.argsort(nodes)
        y = np.concatenate([self.y, np.full(drawn.size, len(self.classes), np.int64)])
        return Labelled(nodes[order], y[order], (*self.classes, BACKGROUND))


def assemble(
    folder: FolderWriter,
    work: Location,
    labels: Mapping[str, str],
    background: int,
    *,
    name: str,
    source: str,
    seed: int,
    notes: Sequence[str] = (),
    is_split: bool = True,
) -> Labelled:
    """Write the data set with a stratified split of its labelled accounts, and the tables beside it.

    There is no split if ``labels``, the class of each account, is empty, or if it is split later. Classes without an
    account are left out. Each stage is removed from ``work`` when it has been read.
    """
    num_nodes, labelled = _write_accounts(folder, work, labels)
    _write_graph(folder, work, num_nodes)
    if background and labelled.nodes.size:
        indptr = np.load(folder.path / "indptr.npy", mmap_mode="r")
        labelled = labelled.with_background(indptr, background, seed)
    y = folder.array("y", np.int64, num_rows=num_nodes)
    for block in labelled.blocks(num_nodes):
        y.append(block)
    split = _split(labelled, seed) if labels and is_split else None
    folder.finish(
        name,
        labelled.classes,
        split=split,
        source=source,
        id_name="address",
        feature_names=features.NAMES,
        measures=features.MEASURES,
        notes=notes,
    )
    return labelled


def _write_accounts(folder: FolderWriter, work: Location, labels: Mapping[str, str]) -> tuple[int, Labelled]:
    """Write ids, features and the stage ``features`` with the column ``label``; return the number of accounts, too."""
    files = stage_files(work, "features")
    num_accounts = num_rows(files)
    ids = folder.array("ids", _id_type(files), num_rows=num_accounts)
    x = folder.array("x", np.float32, (len(features.NAMES),), num_accounts)
    names = sorted(set(labels.values()))
    number_of = {name: number for number, name in enumerate(names)}
    texts, known = pyarrow.array(names, pyarrow.string()), pyarrow.array(list(labels), pyarrow.string())
    numbers = pyarrow.array([number_of[name] for name in labels.values()], pyarrow.int64())

    def convert(batch: Any, first_row: int) -> tuple[Any, ...]:
        rows = features.signed_log(features.matrix(batch))
        check_finite(rows, first_row)
        label = numbers.take(pyarrow.compute.index_in(batch["address"], value_set=known))
        (nodes,) = np.nonzero(label.is_valid().to_numpy(zero_copy_only=False))
        table = [*batch.columns, texts.take(label)]
        return _fixed(batch["address"], ids.dtype), rows, first_row + nodes, label.drop_null().to_numpy(), table

    nodes, y = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    schema = ibis.schema(FEATURES | {"label": TEXT}).to_pyarrow()
    with TableWriter(folder.path / ACCOUNTS, schema) as writer:
        for addresses, rows, labelled, classes, table in over_rows(files, convert):
            ids.append(addresses)
            x.append(rows)
            nodes.append(labelled)
            y.append(classes)
            writer.append(table)
        writer.finish()
    ids.close()
    folder.add_table(ACCOUNTS, folder.path / ACCOUNTS)
    (work / "features").remove()
    present, compact = np.unique(np.concatenate(y), return_inverse=True)
    return num_accounts, Labelled(np.concatenate(nodes), compact, tuple(names[number] for number in present))


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


def _write_graph(folder: FolderWriter, work: Location, num_nodes: int) -> None:
    """Write the graph and its edge attributes from the sorted stage ``links``, and the directed edges as a table."""
    files = stage_files(work, "links")
    num_pairs = sum(over_rows(files, lambda batch, _: _pairs(batch).num_rows, ["node", "other"]))
    graph = CsrWriter(folder, num_nodes, num_entries=num_pairs)
    attributes = {
        name: folder.array(f"edge_{name}", np.float64 if name == "value" else np.int64, num_rows=num_pairs)
        for name in ("count", "value", "first", "last")
    }
    addresses = _Addresses(np.load(folder.path / "ids.npy", mmap_mode="r"))

    def convert(batch: Any, _: int) -> tuple[Any, ...]:
        pairs = _pairs(batch)
        values = {name: pairs[f"out_{name}"].to_numpy() for name in ("count", "first", "last")}
        values["value"] = features.quotient(pairs["out_wei"], unit=features.ETHER)
        edges = pairs.filter(pyarrow.compute.greater(pairs["out_count"], 0))
        ends = [addresses.text(edges[end].to_numpy()) for end in _ENDS.values()]
        table = [*ends, *(edges[name] for name in _EDGE_TABLE)]
        return pairs["node"].to_numpy(), pairs["other"].to_numpy(), values, table

    schema = ibis.schema(dict.fromkeys(_ENDS, TEXT) | dict(_EDGE_TABLE.values())).to_pyarrow()
    with TableWriter(folder.path / EDGES, schema) as writer:
        for nodes, others, values, table in over_rows(files, convert):
            graph.append(nodes, others)
            for name, column in values.items():
                attributes[name].append(column)
            writer.append(table)
        writer.finish()
    graph.close()
    folder.add_table(EDGES, folder.path / EDGES)
    (work / "links").remove()


class _Addresses:
    """The mapped addresses of accounts, of which only few pages are kept in memory."""

    def __init__(self, ids: NDArray[Any]) -> None:
        self._ids, self._rows = ids, MappedRows.of(ids)
        self._type = pyarrow.binary() if ids.dtype.kind == "S" else pyarrow.string()

    def text(self, nodes: NDArray[np.int64]) -> Any:
        """The addresses of accounts as a column of text."""
        parts = []
        for start in range(0, nodes.size, _GATHERED):
            parts.append(pyarrow.array(np.asarray(self._ids[nodes[start : start + _GATHERED]]), self._type))
            if self._rows is not None:
                self._rows.release()
        return pyarrow.concat_arrays([pyarrow.array([], self._type), *parts]).cast(pyarrow.string())


def _pairs(batch: Any) -> Any:
    """The links between two accounts."""
    return batch.filter(pyarrow.compute.not_equal(batch["node"], batch["other"]))


def _split(labelled: Labelled, seed: int) -> Split:
    try:
        split = Split.stratified(labelled.y, seed, _SHARES)
    except InputError as error:
        counts = ", ".join(f"{name} {np.sum(labelled.y == number)}" for number, name in enumerate(labelled.classes))
        raise InputError(
            f"too few labelled accounts have a transaction ({counts or 'none'}) for a 7:1:2 split ({error})"
        ) from None
    return Split(*(labelled.nodes[part] for part in split.parts().values()), seed=seed, shares=split.shares)


def over_rows(
    files: Sequence[Location], convert: Callable[[Any, int], R], columns: list[str] | None = None
) -> Iterator[R]:
    """Call ``convert(batch, first_row)`` for all rows of Parquet files; yield the results in the order of the rows."""

    def read(group: tuple[Location, Any, int, int]) -> R:
        file, metadata, number, first_row = group
        with file.open() as opened:
            table = parquet.ParquetFile(opened, metadata=metadata).read_row_group(number, columns, use_threads=False)
        arrays = [pyarrow.concat_arrays(column.chunks) for column in table.columns]
        converted = convert(pyarrow.RecordBatch.from_arrays(arrays, schema=table.schema), first_row)
        _release()
        return converted

    return in_order(read, _groups(files))


def num_rows(files: Sequence[Location]) -> int:
    """The number of rows of Parquet files."""
    return sum(metadata.num_rows for metadata in in_order(_metadata, files))


def in_order(function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Call a function for all items on as many threads as there are cores, and yield the results in their order."""
    threads = available()
    with ThreadPoolExecutor(threads) as pool:
        pending: deque[Future[R]] = deque()
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) > threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def _groups(files: Sequence[Location]) -> Iterator[tuple[Location, Any, int, int]]:
    first_row = 0
    for file in files:
        metadata = _metadata(file)
        for number in range(metadata.num_row_groups):
            rows = metadata.row_group(number).num_rows
            if rows:
                yield file, metadata, number, first_row
            first_row += rows


def _metadata(file: Location) -> Any:
    with file.open() as opened:
        return parquet.read_metadata(opened)


class TableWriter:
    """Writes a Parquet file in groups of equally many rows, so that its bytes depend on its rows only."""

    def __init__(self, path: Path, schema: Any) -> None:
        self._schema = schema
        self._writer = parquet.ParquetWriter(path, schema, compression="zstd")
        self._batches: list[Any] = []
        self._num_rows = 0

    def __enter__(self) -> "TableWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def append(self, columns: Sequence[Any]) -> None:
        """Write rows, as columns of the schema."""
        self._batches.append(pyarrow.RecordBatch.from_arrays(columns, schema=self._schema))
        self._num_rows += self._batches[-1].num_rows
        if self._num_rows >= _ROWS:
            self._write(self._num_rows - self._num_rows % _ROWS)

    def finish(self) -> None:
        """Write the remaining rows."""
        self._write(self._num_rows)

    def _write(self, stop: int) -> None:
        table = pyarrow.Table.from_batches(self._batches, self._schema)
        for start in range(0, stop, _ROWS):
            rows = min(_ROWS, stop - start)
            self._writer.write_table(table.slice(start, rows).combine_chunks(), row_group_size=_ROWS)
        self._batches = table.slice(stop).to_batches()
        self._num_rows -= stop
        _release()


def _release() -> None:
    """Return unused memory to the system; pyarrow otherwise keeps several times what it uses, for each thread."""
    pyarrow.default_memory_pool().release_unused()


@dataclass(frozen=True)
class Space:
    """The bytes that a build needs for its stages at their largest, and for dataset folders; about.

    Attributes:
        rows: in the files, about.
        stages: of intermediate tables, and of what an engine writes because it exceeds its memory.
        folders: of the data set, and of its parts if it is joined from several.
    """

    rows: int
    stages: int
    folders: int

    @classmethod
    def of(cls, files: Sequence[Source], engine: str, num_folders: int = 1) -> "Space":
        """Estimate the space for files that an engine makes so many dataset folders of."""
        rows = sum(_num_rows(file) for file in files)
        return cls(rows, rows * _STAGE_BYTES[engine], rows * _FOLDER_BYTES * num_folders)

    def __str__(self) -> str:
        parts = f"{size(self.stages)} for stages, {size(self.folders)} for the data set"
        return f"{self.rows:,} rows need about {size(self.stages + self.folders)} of disk: {parts}"

    def check(self, out: Path, stages: Location) -> None:
        """Raise InputError if a disk of this machine is too small."""
        disks: dict[int, tuple[Path, Path, int]] = {}
        for folder, share in ((out, self.folders), (stages.local, self.stages)):
            if folder is not None:
                existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
                named, _, before = disks.get(existing.stat().st_dev, (folder, existing, 0))
                disks[existing.stat().st_dev] = named, existing, before + share
        for folder, existing, needed in disks.values():
            free = shutil.disk_usage(existing).free
            if needed > free:
                raise InputError(
                    f"{folder}: {self.rows:,} rows need about {size(needed)} of disk, and {size(free)} are free"
                )


def _num_rows(file: Source) -> int:
    """The number of rows of a Parquet file; about that of a text file, as its beginning suggests."""
    with open_bytes(file) as opened:
        if is_parquet(file):
            try:
                return int(parquet.read_metadata(opened).num_rows)
            except (ArrowException, OSError):  # reported when the file is read
                return 0
        sample = opened.read(_SAMPLE)
    try:
        text = zlib.decompressobj(_GZIP).decompress(sample) if file.suffix.lower() == ".gz" else sample
    except zlib.error:
        return 0
    rows = max(text.count(b"\n"), text.count(b"{"))
    return rows * num_bytes(file) // max(len(sample), 1)
