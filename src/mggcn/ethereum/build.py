"""Build a dataset folder from tables of transactions: the graph, 13 features, labels, a split, and exact tables.

The graph is undirected, as in the paper: two accounts are neighbours if a transaction from one to the other succeeded,
also one without ether. Edge attributes keep the direction: the entry of neighbour u in row v describes the transactions
from v to u, with count 0 if there were none.
``edge_value`` is in ether, rounded once to a float; the exact wei are in ``edges.parquet``.
"""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from datetime import time as clock
from pathlib import Path
from typing import Any, Literal

import ibis
import numpy as np
import pyarrow
import pyarrow.compute
from numpy.typing import NDArray
from pyarrow import parquet

from mggcn import storage
from mggcn.dataset import BACKGROUND, UNLABELLED, Dataset, Split, draw_background
from mggcn.drafts import claimed, draft_folder
from mggcn.errors import InputError, prefix_errors
from mggcn.ethereum import features, pipeline
from mggcn.ethereum._engines import open_engine, stage_files
from mggcn.ethereum._exported import read_tables
from mggcn.ethereum._table_files import expand
from mggcn.ethereum._tables import FEATURES
from mggcn.ethereum._values import INT, TEXT, WEI
from mggcn.ethereum.label_lists import read_labels
from mggcn.ethereum.pipeline import BuildInputs, OnStage, Tally
from mggcn.ethereum.simulate import is_simulated
from mggcn.graph import Graph, index_dtype

EngineName = Literal["duckdb", "spark"]

_ACCOUNTS, _EDGES = "accounts.parquet", "edges.parquet"
_BATCH = 1 << 16
_SHARES = (0.7, 0.1, 0.2)  # of train, val and test, as in the paper
_EDGE_TABLE = {
    "node": ("src", INT),
    "other": ("dst", INT),
    "out_count": ("count", INT),
    "out_wei": ("value_wei", WEI),
    "out_first": ("first_time", INT),
    "out_last": ("last_time", INT),
    "fee": ("fee_wei", WEI),
}
"""The columns of ``edges.parquet``, by the column of the stage ``links`` that each comes from."""


@dataclass(frozen=True)
class Built:
    """The result of a build.

    Attributes:
        dataset: as stored.
        tally: the rows that the rules dropped or changed.
        labels: the number of accounts in the label file; 0 without one.
        unknown: how many of them have no transaction.
        background: the number of unlabelled accounts in the class Background.
    """

    dataset: Dataset
    tally: Tally
    labels: int
    unknown: int
    background: int = 0


def build(
    inputs: BuildInputs,
    out: Path,
    *,
    labels: Path | None = None,
    engine: EngineName = "duckdb",
    memory: str = "4GB",
    name: str | None = None,
    seed: int = 0,
    background: int = 0,
    overwrite: bool = False,
    quiet: bool = True,
) -> Built:
    """Build a dataset folder with ``accounts.parquet`` and ``edges.parquet`` beside its arrays.

    Args:
        inputs: the files to read.
        out: the folder to write.
        labels: a file with the columns address and label.
        engine: computes the tables.
        memory: the memory limit of the engine.
        name: of the data set; by default ``ethereum:`` and the folder's name, for which the preset ``paper`` has
            settings. The name of simulated data always contains ``simulated``.
        seed: of the split, and of the accounts of ``background``.
        background: label so many unlabelled accounts as a class Background, see
            :func:`mggcn.dataset.draw_background`; too few with the degrees of labelled accounts give fewer.
        overwrite: replace an existing dataset folder.
        quiet: do not print the stages on standard error.
    """
    storage.check_free(out, overwrite=overwrite)
    files = expand(inputs.transactions)
    for file in files:
        if file.resolve().is_relative_to(out.resolve()):
            raise InputError(f"{out}: holds {file.name}, which is to be read, so it is not replaced")
    account_labels, notes = ({}, []) if labels is None else read_labels(labels, any_ids=inputs.any_ids)
    if background and (labels is None or BACKGROUND.lower() in map(str.lower, account_labels.values())):
        problem = "needs labelled accounts" if labels is None else f"{labels} has a class of the name {BACKGROUND}"
        raise InputError(f"--background: {problem}")
    with claimed(out), draft_folder(out) as work, _timed(quiet) as on_stage:
        with open_engine(engine, work, memory) as running:
            if inputs.from_tables:
                tally = read_tables(running, inputs.transactions, work, on_stage)
            else:
                tally = pipeline.run(running, inputs, work, on_stage)
        on_stage("data set")
        simulated = any(is_simulated(file) for file in files)
        title = _name(name or f"ethereum:{out.name}", simulated)
        source = "SIMULATED: " * simulated + _source(tally, inputs, labels, seed, background)
        with prefix_errors(labels or out):
            dataset = _assemble(work, account_labels, background, name=title, source=source, seed=seed, notes=notes)
        tables = {file: work / file for file in (_ACCOUNTS, _EDGES)}
        storage.save(dataset, out, overwrite=overwrite, tables=tables)
    num_labelled, drawn = (int(np.sum(test)) for test in (dataset.y != UNLABELLED, _is_background(dataset)))
    unknown = len(account_labels) - (num_labelled - drawn)
    return Built(storage.load(out, mmap=True), tally, len(account_labels), unknown, drawn)


def parse_as_of(text: str) -> int:
    """Return the last second to include: the end of a date, or a time; in UTC unless the time has another zone."""
    try:
        with suppress(ValueError):
            return int(datetime.combine(date.fromisoformat(text), clock(23, 59, 59), UTC).timestamp())
        moment = datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).timestamp())
    except (ValueError, OverflowError):
        raise InputError(
            f"--as-of: {text!r} is neither a date such as 2020-01-31 nor a time such as 2020-01-31T12:00:00"
        ) from None


def _is_background(dataset: Dataset) -> NDArray[np.bool_]:
    return np.asarray([*(name == BACKGROUND for name in dataset.classes), False])[dataset.y]  # -1 selects the last


def _name(name: str, simulated: bool) -> str:
    if not simulated or "simulated" in name:
        return name
    prefix, colon, last = name.rpartition(":")
    return f"{prefix}{colon}simulated-{last}"


def _source(tally: Tally, inputs: BuildInputs, labels: Path | None, seed: int, background: int) -> str:
    parts = [f"{tally.kept:,} transactions ({', '.join(tally.formats)})"]
    if inputs.as_of is not None:
        parts.append(f"as of {datetime.fromtimestamp(inputs.as_of, UTC):%Y-%m-%d %H:%M:%S} UTC")
    if labels is not None:
        parts.append(f"labels of {labels.name}, 7:1:2 split of seed {seed}")
    if background:
        parts.append(f"up to {background:,} unlabelled accounts as {BACKGROUND}")
    return "; ".join(parts)


@contextmanager
def _timed(quiet: bool) -> Iterator[OnStage]:
    """Print each stage with its duration on standard error."""
    current, started = "", 0.0

    def start(stage: str) -> None:
        nonlocal current, started
        now = time.perf_counter()
        if current and not quiet:
            sys.stderr.write(f"{current:<14} {now - started:8.1f} s\n")
        current, started = stage, now

    yield start
    start("")


def _assemble(
    work: Path,
    labels: Mapping[str, str],
    background: int,
    *,
    name: str,
    source: str,
    seed: int,
    notes: Sequence[str] = (),
) -> Dataset:
    """Return the data set with a stratified split of its labelled accounts, and write the tables beside it to ``work``.

    There is no split if ``labels``, the class of each account, is empty. Classes without an account are left out.
    """
    names, x, account_labels = _read_accounts(work, labels)
    classes = sorted({label for label in account_labels if label is not None})
    numbers: dict[str | None, int] = {None: UNLABELLED, **{label: number for number, label in enumerate(classes)}}
    y = np.array([numbers[label] for label in account_labels], np.int64)
    graph, attributes = _read_graph(work, y.size)
    if background and np.any(y != UNLABELLED):
        y[draw_background(y, np.diff(graph.indptr), background, seed)] = len(classes)
        classes.append(BACKGROUND)
    return Dataset(
        name=name,
        graph=graph,
        x=x,
        y=y,
        classes=tuple(classes),
        split=_split(y, classes, seed) if labels else None,
        node_ids=names,
        id_name="address",
        source=source,
        feature_names=features.NAMES,
        edge_attributes=attributes,
        notes=tuple(notes),
    )


def _read_accounts(work: Path, labels: Mapping[str, str]) -> tuple[NDArray[Any], NDArray[Any], list[str | None]]:
    """Return names, features and labels; write the stage ``features`` with the column ``label`` to a table."""
    names: list[NDArray[np.generic]] = []
    x: list[NDArray[np.float32]] = []
    account_labels: list[str | None] = []
    schema = ibis.schema(FEATURES | {"label": TEXT}).to_pyarrow()
    with parquet.ParquetWriter(work / _ACCOUNTS, schema, compression="zstd") as writer:
        for batch in _batches(stage_files(work, "features")):
            accounts: list[str] = batch["address"].to_pylist()
            label_column = [labels.get(account) for account in accounts]
            columns = [*batch.columns, pyarrow.array(label_column, pyarrow.string())]
            writer.write_batch(pyarrow.RecordBatch.from_arrays(columns, schema=schema))
            names.append(np.array(accounts, np.bytes_ if "".join(accounts).isascii() else np.str_))
            x.append(features.signed_log(features.matrix(batch)))
            account_labels += label_column
    return np.concatenate(names), np.concatenate(x), account_labels


def _read_graph(work: Path, num_nodes: int) -> tuple[Graph, dict[str, NDArray[np.generic]]]:
    """Return the graph and its edge attributes from the sorted stage ``links``; write the directed edges to a table."""
    files = stage_files(work, "links")
    num_rows = sum(parquet.ParquetFile(file).metadata.num_rows for file in files)
    indices = _on_disk(work / "indices", index_dtype(num_nodes), num_rows)
    attributes = {
        name: _on_disk(work / name, np.float64 if name == "value" else np.int64, num_rows)
        for name in ("count", "value", "first", "last")
    }
    degrees = np.zeros(num_nodes, np.int64)
    start = 0
    schema = ibis.schema(dict(_EDGE_TABLE.values())).to_pyarrow()
    with parquet.ParquetWriter(work / _EDGES, schema, compression="zstd") as writer:
        for batch in _batches(files):
            pairs = batch.filter(pyarrow.compute.not_equal(batch["node"], batch["other"]))
            stop = start + pairs.num_rows
            indices[start:stop] = pairs["other"].to_numpy()
            for name in ("count", "first", "last"):
                attributes[name][start:stop] = pairs[f"out_{name}"].to_numpy()
            attributes["value"][start:stop] = features.quotient(pairs["out_wei"], unit=features.ETHER)
            np.add.at(degrees, pairs["node"].to_numpy(), 1)
            edges = pairs.filter(pyarrow.compute.greater(pairs["out_count"], 0))
            columns = [edges[name] for name in _EDGE_TABLE]
            writer.write_batch(pyarrow.RecordBatch.from_arrays(columns, schema=schema))
            start = stop
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    graph = Graph(indptr, indices[:start], "both")
    return graph, {name: values[:start] for name, values in attributes.items()}


def _split(y: NDArray[np.int64], classes: Sequence[str], seed: int) -> Split:
    try:
        return Split.stratified(y, seed, _SHARES)
    except InputError as error:
        counts = ", ".join(f"{name} {np.sum(y == number)}" for number, name in enumerate(classes)) or "none"
        raise InputError(
            f"too few labelled accounts have a transaction ({counts}) for a 7:1:2 split ({error})"
        ) from None


def _batches(files: Sequence[Path]) -> Iterator[Any]:
    for file in files:
        yield from parquet.ParquetFile(file).iter_batches(_BATCH)


def _on_disk(path: Path, dtype: type[np.generic], size: int) -> NDArray[Any]:
    return np.memmap(path, dtype, "w+", shape=size) if size else np.empty(0, dtype)
