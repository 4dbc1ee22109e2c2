"""Build a dataset folder from tables of transactions: the graph, 13 features, labels, a split, and exact tables.

The graph is undirected, as in the paper: two accounts are neighbours if a transaction from one to the other succeeded,
also one without ether. Edge attributes keep the direction: the entry of neighbour u in row v describes the transactions
from v to u, with count 0 if there were none.
``edge_value`` is in ether, rounded once to a float; the exact wei are in ``edges.parquet``.
"""

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mggcn import storage
from mggcn.dataset import BACKGROUND, UNLABELLED, Column, Dataset, Split, draw_background
from mggcn.dataset.columns import feature_names
from mggcn.errors import InputError, prefix_errors
from mggcn.ethereum import features, pipeline
from mggcn.ethereum._engines import open_engine
from mggcn.ethereum._exported import read_tables
from mggcn.ethereum._snapshot import ACCOUNTS, EDGES, Snapshot
from mggcn.ethereum._table_files import expand
from mggcn.ethereum.label_lists import read_labels
from mggcn.ethereum.own_features import add_columns, add_features
from mggcn.ethereum.pipeline import BuildInputs, OnStage, Tally
from mggcn.ethereum.simulate import is_simulated
from mggcn.ethereum.time_split import TimeSplit

EngineName = Literal["duckdb", "spark"]

_SHARES = (0.7, 0.1, 0.2)  # of train, val and test, as in the paper


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

    @property
    def num_edges(self) -> int:
        """The number of edges between accounts, without those of copies."""
        graph = self.dataset.graph
        return int(graph.indptr[self.dataset.num_current]) // 2


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
    time_split: TimeSplit | None = None,
    own_features: Path | None = None,
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
        time_split: split labelled accounts by the time they are first seen, with features as of each date, instead of
            at random.
        own_features: a table with the column address, whose other columns become features next to the thirteen.
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
    if time_split is not None:
        time_split.check(inputs, has_labels=labels is not None)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.work.", dir=out.parent) as folder, _timed(quiet) as on_stage:
        snapshots, tallies = [], []
        for number, dated in enumerate(time_split.inputs(inputs) if time_split else [inputs]):
            work = Path(folder) / str(number)
            work.mkdir()
            with open_engine(engine, work, memory) as running:
                if inputs.from_tables:
                    tallies.append(read_tables(running, inputs.transactions, work, on_stage))
                else:
                    tallies.append(pipeline.run(running, dated, work, on_stage))
            snapshots.append(Snapshot.read(work, account_labels))
        tally = tallies[0]
        encoding: tuple[Column, ...] = ()
        if own_features is not None:
            on_stage("own features")
            snapshots, encoding, more = add_features(snapshots, own_features, any_ids=inputs.any_ids)
            add_columns(Path(folder) / "0" / ACCOUNTS, snapshots[0].x, encoding)
            notes += more
        on_stage("data set")
        simulated = any(is_simulated(file) for file in files)
        title = _name(name or f"ethereum:{out.name}", simulated)
        how = f"{time_split}" if time_split else f"7:1:2 split of seed {seed}"
        source = "SIMULATED: " * simulated + _source(tally, inputs, labels, how, background)
        with prefix_errors(labels or out):
            dataset = _assemble(
                snapshots,
                time_split,
                background,
                has_labels=labels is not None,
                encoding=encoding,
                name=title,
                source=source,
                seed=seed,
                notes=notes,
            )
        tables = {file: Path(folder) / "0" / file for file in (ACCOUNTS, EDGES)}
        storage.save(dataset, out, overwrite=overwrite, tables=tables)
    current = slice(dataset.num_current)
    drawn = int(_is_background(dataset)[current].sum())
    num_labelled = int((dataset.y[current] != UNLABELLED).sum())
    unknown = len(account_labels) - (num_labelled - drawn)
    return Built(storage.load(out, mmap=True), tally, len(account_labels), unknown, drawn)


def _is_background(dataset: Dataset) -> NDArray[np.bool_]:
    return np.asarray([*(name == BACKGROUND for name in dataset.classes), False])[dataset.y]  # -1 selects the last


def _name(name: str, simulated: bool) -> str:
    if not simulated or "simulated" in name:
        return name
    prefix, colon, last = name.rpartition(":")
    return f"{prefix}{colon}simulated-{last}"


def _source(tally: Tally, inputs: BuildInputs, labels: Path | None, split: str, background: int) -> str:
    parts = [f"{tally.kept:,} transactions ({', '.join(tally.formats)})"]
    if inputs.as_of is not None:
        parts.append(f"as of {datetime.fromtimestamp(inputs.as_of, UTC):%Y-%m-%d %H:%M:%S} UTC")
    if labels is not None:
        parts.append(f"labels of {labels.name}, {split}")
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
    snapshots: Sequence[Snapshot],
    time_split: TimeSplit | None,
    background: int,
    *,
    has_labels: bool,
    encoding: tuple[Column, ...],
    name: str,
    source: str,
    seed: int,
    notes: Sequence[str] = (),
) -> Dataset:
    """Return the data set of the latest snapshot, with copies of earlier ones if it is split by time.

    There is no split without labels. Classes without an account are left out.
    """
    latest = snapshots[0]
    classes = sorted({label for label in latest.labels if label is not None})
    numbers: dict[str | None, int] = {None: UNLABELLED, **{label: number for number, label in enumerate(classes)}}
    y = np.array([numbers[label] for label in latest.labels], np.int64)
    if background and np.any(y != UNLABELLED):
        y[draw_background(y, np.diff(latest.graph.indptr), background, seed)] = len(classes)
        classes.append(BACKGROUND)
    described: dict[str, Any] = {"id_name": "address", "feature_names": features.NAMES, "measures": features.MEASURES}
    if encoding:
        described |= {"feature_names": feature_names(encoding), "encoding": encoding}
    described |= {"name": name, "source": source, "notes": tuple(notes), "classes": tuple(classes)}
    if time_split is not None:
        return time_split.join(snapshots, y, **described)
    split = _split(y, classes, seed) if has_labels else None
    return Dataset(
        graph=latest.graph,
        x=latest.x,
        y=y,
        split=split,
        node_ids=latest.names,
        edge_attributes=latest.attributes,
        **described,
    )


def _split(y: NDArray[np.int64], classes: Sequence[str], seed: int) -> Split:
    try:
        return Split.stratified(y, seed, _SHARES)
    except InputError as error:
        counts = ", ".join(f"{name} {np.sum(y == number)}" for number, name in enumerate(classes)) or "none"
        raise InputError(
            f"too few labelled accounts have a transaction ({counts}) for a 7:1:2 split ({error})"
        ) from None
