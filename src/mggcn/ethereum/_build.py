"""Build a dataset folder from tables of transactions: the graph, features, labels, a split, and exact tables.

The graph is undirected, as in the paper: two accounts are neighbours if a transaction from one to the other succeeded,
also one without ether. Edge attributes keep the direction: the entry of neighbour u in row v describes the transactions
from v to u, with count 0 if there were none.
``edge_value`` is in ether, rounded once to a float; the exact wei are in ``edges.parquet``.

Accounts may be split by the time they are first seen. Training accounts are those that have a transaction until the
first date, validation accounts those that appear until the second, test accounts those that appear later. Nothing may
see its future: features and edges of training accounts and of all their neighbours are as of the first date, those of
validation accounts as of the second. A data set has one graph, so it contains the accounts as of the latest date,
followed by copies as of the earlier dates without an edge between them; the id of a copy ends in ``@`` and its date.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from mggcn._io.files import check_writable
from mggcn._io.locations import Location
from mggcn._io.temporary import locked_name, temporary_folder
from mggcn.data import BACKGROUND, COPY, UNLABELLED, Dataset, Split, check_free, load_folder, save, writing
from mggcn.errors import InputError, prefix_errors
from mggcn.ethereum import _pipeline as pipeline
from mggcn.ethereum._assembly import ACCOUNTS, EDGES, TRANSFERS, Assembled, assemble, require_space
from mggcn.ethereum._build_files import BuildInputs, expand, is_simulated, local_copy
from mggcn.ethereum._dates import parse_as_of
from mggcn.ethereum._engines import open_engine
from mggcn.ethereum._label_lists import read_labels
from mggcn.ethereum._own_features import Snapshot, add_columns, add_features
from mggcn.ethereum._pipeline import RuleCounts
from mggcn.ethereum._verdicts import read_verdicts
from mggcn.graph import Graph, index_dtype

EngineName = Literal["duckdb", "spark"]


_PREFIX = "time:"


@dataclass(frozen=True)
class TimeSplit:
    """A split by time."""

    dates: tuple[str, str]  # the last ones of training and of validation, as given
    until: tuple[int, int]  # the last seconds since 1970 of both

    @classmethod
    def parse(cls, text: str) -> "TimeSplit | None":
        """Read ``random`` as None, and ``time:DATE,DATE``; a date as :func:`parse_as_of` reads it."""
        if text == "random":
            return None
        dates = tuple(part.strip() for part in text.removeprefix(_PREFIX).split(","))
        if not text.startswith(_PREFIX) or len(dates) != 2:
            raise InputError(f"split: {text!r} is neither random nor time:DATE,DATE")
        first, second = (parse_as_of(part, "split") for part in dates)
        if first >= second:
            raise InputError(f"split: {dates[0]} is not before {dates[1]}")
        return cls((dates[0], dates[1]), (first, second))

    def __str__(self) -> str:
        return f"split by time: train until {self.dates[0]}, val until {self.dates[1]}"

    def inputs(self, inputs: BuildInputs, *, has_labels: bool) -> list[BuildInputs]:
        """What snapshots are built from: the latest, that of validation, that of training; InputError if that fails."""
        if not has_labels:
            raise InputError("split: needs labels=…")
        if inputs.from_tables:
            raise InputError("split: exported tables are of one date; build from transactions to split by time")
        if inputs.balances is not None:
            raise InputError("split: balances=… are of one date, so earlier accounts would see their future")
        if inputs.as_of is not None and inputs.as_of <= self.until[1]:
            raise InputError(f"split: {self.dates[1]} is not before as_of")
        return [inputs, *(replace(inputs, as_of=until) for until in reversed(self.until))]

    def join(self, snapshots: Sequence[Dataset]) -> Dataset:
        """Return the data set of the latest accounts with copies as of earlier dates.

        Args:
            snapshots: the latest, that of validation, that of training, each with the labels that were known then;
                classes are those of the latest.
        """
        latest, val, train = snapshots
        starts = np.cumsum([0, latest.num_nodes, val.num_nodes])
        labels = [latest.y, *(_renumbered(copies, latest.classes) for copies in (val, train))]
        is_test = (latest.y != UNLABELLED) & (_positions(val, latest) < 0) & (_positions(train, latest) < 0)
        is_val = (labels[1] != UNLABELLED) & (_positions(train, val) < 0)
        is_train = labels[2] != UNLABELLED
        parts = [np.flatnonzero(part) + start for part, start in zip((is_test, is_val, is_train), starts, strict=True)]
        names = {"train": parts[2], "val": parts[1], "test": parts[0]}
        if empty := [name for name, nodes in names.items() if not nodes.size]:
            counts = ", ".join(f"{name} {nodes.size:,}" for name, nodes in names.items())
            raise InputError(f"{self}: no labelled account is first seen in the part {empty[0]} ({counts})")
        dates = ["", self.dates[1], self.dates[0]]
        return replace(
            latest,
            graph=_union([snapshot.graph for snapshot in snapshots]),
            x=np.concatenate([snapshot.x for snapshot in snapshots]),
            y=np.concatenate([latest.y, np.where(is_val, labels[1], UNLABELLED), labels[2]]),
            split=Split(parts[2], parts[1], parts[0]),
            node_ids=np.concatenate([_names(*dated) for dated in zip(snapshots, dates, strict=True)]),
            copies=val.num_nodes + train.num_nodes,
            edge_attributes={
                name: np.concatenate([snapshot.edge_attributes[name] for snapshot in snapshots])
                for name in latest.edge_attributes
            },
            mapped=None,
        )


def _renumbered(dataset: Dataset, classes: Sequence[str]) -> NDArray[np.int64]:
    """[n] labels of a data set as numbers of other classes, which include its own."""
    return np.array([*(classes.index(name) for name in dataset.classes), UNLABELLED], np.int64)[dataset.y]


def _names(dataset: Dataset, date: str = "") -> NDArray[Any]:
    """The addresses of accounts, of copies with their date."""
    names = np.asarray(dataset.node_ids)
    suffix = f"{COPY}{date}"
    return np.char.add(names, suffix.encode() if names.dtype.kind == "S" else suffix) if date else names


def _positions(dataset: Dataset, other: Dataset) -> NDArray[np.int64]:
    """[n] the numbers that the accounts of another data set have in this one, -1 for those that it lacks."""
    known, wanted = _names(dataset), _names(other)  # sorted
    nearest = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    return np.where(known[nearest] == wanted, nearest, -1)


def _union(graphs: Sequence[Graph]) -> Graph:
    """The graphs side by side, without an edge between them."""
    parts = [graph.arrays() for graph in graphs]
    starts = np.cumsum([0, *(graph.num_nodes for graph in graphs)])
    joined: dict[str, NDArray[Any]] = {}
    for name in parts[0]:
        arrays = [part[name] for part in parts]
        if name.endswith("indptr"):
            first = np.cumsum([0, *(array[-1] for array in arrays)])
            rows = [array[1:] + start for array, start in zip(arrays, first, strict=False)]
            joined[name] = np.concatenate([np.zeros(1, np.int64), *rows])
        elif name.endswith("indices"):
            dtype = index_dtype(int(starts[-1]))
            joined[name] = np.concatenate(
                [np.add(array, start, dtype=dtype) for array, start in zip(arrays, starts, strict=False)]
            )
        else:
            joined[name] = np.concatenate(arrays)
    return Graph.from_arrays(joined, "both", graphs[0].types)


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
    tally: RuleCounts
    labels: int
    unknown: int
    background: int = 0

    @property
    def num_edges(self) -> int:
        """The number of edges between accounts, without those of copies."""
        graph = self.dataset.graph
        return int(graph.indptr[self.dataset.num_current]) // 2


def build(
    inputs: BuildInputs,
    out: Path,
    *,
    labels: str | Path | None = None,
    verdicts: str | Path | None = None,
    engine: EngineName = "duckdb",
    memory: str = "4GB",
    name: str | None = None,
    seed: int = 0,
    background: int = 0,
    time_split: TimeSplit | None = None,
    own_features: str | Path | None = None,
    roles: bool = True,
    stages: str | Path | None = None,
    overwrite: bool = False,
    quiet: bool = True,
) -> Built:
    """Build a dataset folder with ``accounts.parquet`` and ``edges.parquet`` beside its arrays.

    Args:
        inputs: the files to read.
        out: the folder to write.
        labels: a file with the columns address and label.
        verdicts: a file that :func:`read_verdicts` reads; a verdict counts from its date on, and those later than
            ``as_of`` are ignored.
        engine: computes the tables.
        memory: the memory limit of the engine.
        name: of the data set; by default ``ethereum:`` and the folder's name, for which the preset ``paper`` has
            settings. The name of simulated data always contains ``simulated``.
        seed: of the split, and of the accounts of ``background``.
        background: the number of unlabelled accounts to label as a class Background, see
            :func:`mggcn.data.draw_background`; too few with the degrees of labelled accounts give fewer.
        time_split: split labelled accounts by the time they are first seen, with features as of each date, instead of
            at random.
        own_features: a table with the column address, whose other columns become features next to those of
            accounts. With a column ``as_of`` of dates the latest row that is not later counts, which a split by time
            needs.
        roles: add two features to the thirteen: whether an account never received, and whether it never sent.
        stages: the folder for intermediate tables, a path or, with Spark, an address such as ``s3://bucket/folder``
            that all workers can reach; by default that of ``out``. Each table is removed when no other reads it.
        overwrite: replace an existing dataset folder.
        quiet: do not print the required disk space and the stages on standard error.
    """
    check_free(out, overwrite=overwrite)
    with (
        locked_name(out),
        temporary_folder(out) as folder,
        _stage_folder(stages, folder, engine) as tables,
        _timed(quiet) as on_stage,
    ):
        if engine == "duckdb":
            inputs = inputs.here(folder)
        files = expand(inputs.transactions)
        label_file = None if labels is None else local_copy(labels, folder)
        own_file = None if own_features is None else local_copy(own_features, folder)
        verdict_file = None if verdicts is None else local_copy(verdicts, folder)
        account_labels, notes = ({}, []) if label_file is None else read_labels(label_file, any_ids=inputs.any_ids)
        num_labels = len(account_labels)
        if label_file is None and (background or verdict_file is not None):
            raise InputError(f"{'background' if background else 'verdicts'}: needs labelled accounts")
        judged = None
        if verdict_file is not None:
            judged = read_verdicts(verdict_file, set(account_labels.values()), any_ids=inputs.any_ids)
        dates = time_split.inputs(inputs, has_labels=labels is not None) if time_split else [inputs]
        is_whole = time_split is None and own_file is None
        space = require_space(files, engine, 1 if is_whole else 2 if time_split is None else 6, out, tables.local)
        if not quiet:
            sys.stderr.write(f"{space}\n")
        simulated = any(map(is_simulated, files))
        title = name or f"ethereum:{out.name}"
        if simulated and "simulated" not in title:
            prefix, colon, last = title.rpartition(":")
            title = f"{prefix}{colon}simulated-{last}"
        snapshots, tallies, assembled = [], [], list[Assembled]()
        for number, dated in enumerate(dates):
            work = tables / str(number)
            work.create()
            with open_engine(engine, work, memory) as running:
                compute = pipeline.read_tables if inputs.from_tables else pipeline.run
                tallies.append(compute(running, dated, on_stage))
            on_stage("data set")
            how = str(time_split) if time_split else f"7:1:2 split of seed {seed}"
            source = "SIMULATED: " * simulated + _source(tallies[0], inputs, label_file, how, background)
            described: dict[str, Any] = {"name": title, "source": source, "seed": seed, "notes": notes}
            described |= {"types": tallies[0].types, "unit": inputs.unit, "decimals": inputs.decimals}
            target = out if is_whole else folder / f"snapshot-{number}"
            with prefix_errors(label_file or out), writing(target, overwrite=overwrite) as writer:
                drawn, is_split = background if number == 0 else 0, time_split is None
                in_force = judged.as_of(dated.as_of) if judged else None
                how_built = {**described, "is_split": is_split, "roles": roles}
                one = assemble(writer, work, account_labels, drawn, in_force, **how_built)
            assembled.append(one)
            account_labels |= dict.fromkeys(one.background, BACKGROUND)  # earlier snapshots have those of the latest
            snapshots.append(load_folder(target, mmap=True))
        if not is_whole:
            extra = {
                file: folder / "snapshot-0" / file for file in (ACCOUNTS, EDGES, *[TRANSFERS] * bool(tallies[0].types))
            }
            with prefix_errors(label_file or out):
                joined = time_split.join(snapshots) if time_split else snapshots[0]
            if own_file is not None:
                parts = [Snapshot(data.num_nodes, one.as_of) for data, one in zip(snapshots, dates, strict=True)]
                joined = add_features(joined, own_file, parts, any_ids=inputs.any_ids)
                add_columns(extra[ACCOUNTS], joined)
            save(joined, out, overwrite=overwrite, tables=extra)
    dataset, latest = load_folder(out, mmap=True), assembled[0]
    return Built(dataset, tallies[0], num_labels, num_labels - latest.num_labelled, len(latest.background))


@contextmanager
def _stage_folder(stages: str | Path | None, folder: Path, engine: EngineName) -> Iterator[Location]:
    """Yield an empty folder for the stages, which is removed at the end: in ``stages``, or by default in ``folder``."""
    with prefix_errors("stages"):
        parent = Location.of(folder if stages is None else stages)
    if parent.local is not None:
        check_writable(parent.local, "stages")
        with temporary_folder(parent.local / folder.name.strip(".")) as empty:
            yield Location.of(empty)
        return
    if engine == "duckdb":
        raise InputError(f"stages: {parent} is not on this machine, as DuckDB needs; engine='spark' writes there")
    folder_there = parent / f"mggcn-{uuid4().hex[:12]}"
    folder_there.create()
    try:
        yield folder_there
    finally:
        folder_there.remove()


def _source(tally: RuleCounts, inputs: BuildInputs, labels: Path | None, split: str, background: int) -> str:
    parts = [f"{tally.kept:,} transactions ({', '.join(tally.formats)})"]
    if (inputs.unit, inputs.decimals) != (BuildInputs.unit, BuildInputs.decimals):
        parts.append(f"values in {inputs.unit} of {inputs.decimals} decimals")
    if inputs.as_of is not None:
        parts.append(f"as of {datetime.fromtimestamp(inputs.as_of, UTC):%Y-%m-%d %H:%M:%S} UTC")
    if labels is not None:
        parts.append(f"labels of {labels.name}, {split}")
    if background:
        parts.append(f"up to {background:,} unlabelled accounts as {BACKGROUND}")
    return "; ".join(parts)


@contextmanager
def _timed(quiet: bool) -> Iterator[pipeline.OnStage]:
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
