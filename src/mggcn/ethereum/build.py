"""Build a dataset folder from tables of transactions: the graph, 13 features, labels, a split, and exact tables.

The graph is undirected, as in the paper: two accounts are neighbours if a transaction from one to the other succeeded,
also one without ether. Edge attributes keep the direction: the entry of neighbour u in row v describes the transactions
from v to u, with count 0 if there were none.
``edge_value`` is in ether, rounded once to a float; the exact wei are in ``edges.parquet``.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from datetime import time as clock
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mggcn import storage
from mggcn.dataset import BACKGROUND, UNLABELLED, Dataset
from mggcn.drafts import claimed, draft_folder
from mggcn.engines.stages import open_engine
from mggcn.errors import InputError, prefix_errors
from mggcn.ethereum import pipeline
from mggcn.ethereum._assembly import assemble
from mggcn.ethereum._exported import read_tables
from mggcn.ethereum._table_files import expand
from mggcn.ethereum.label_lists import read_labels
from mggcn.ethereum.pipeline import BuildInputs, OnStage, Tally
from mggcn.ethereum.simulate import is_simulated

EngineName = Literal["duckdb", "spark"]


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
        with prefix_errors(labels or out), storage.writing(out, overwrite=overwrite) as writer:
            assemble(writer, work, account_labels, background, name=title, source=source, seed=seed, notes=notes)
    dataset = storage.load(out, mmap=True)
    num_labelled, drawn = (int(np.sum(test)) for test in (dataset.y != UNLABELLED, _is_background(dataset)))
    unknown = len(account_labels) - (num_labelled - drawn)
    return Built(dataset, tally, len(account_labels), unknown, drawn)


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
