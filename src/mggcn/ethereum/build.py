"""Build a dataset folder from tables of transactions."""

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from datetime import time as clock
from pathlib import Path
from typing import Literal

import numpy as np

from mggcn import storage
from mggcn.dataset import UNLABELLED, Dataset
from mggcn.errors import InputError, prefix_errors
from mggcn.ethereum import _assemble, _engines, pipeline
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
    """

    dataset: Dataset
    tally: Tally
    labels: int
    unknown: int


def build(
    inputs: BuildInputs,
    out: Path,
    *,
    labels: Path | None = None,
    engine: EngineName = "duckdb",
    memory: str = "4GB",
    name: str | None = None,
    seed: int = 0,
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
        name: of the data set; by default ``ethereum:`` and the folder's name, for which the paper's settings are the
            defaults. The name of simulated data always contains ``simulated``.
        seed: of the split.
        overwrite: replace an existing dataset folder.
        quiet: do not print the stages on standard error.
    """
    storage.check_free(out, overwrite=overwrite)
    files = expand(inputs.transactions)
    for file in files:
        if file.resolve().is_relative_to(out.resolve()):
            raise InputError(f"{out}: holds {file.name}, which is to be read, so it is not replaced")
    account_labels = {} if labels is None else read_labels(labels, any_ids=inputs.any_ids)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.work.", dir=out.parent) as folder, _timed(quiet) as on_stage:
        work = Path(folder)
        with _engines.open_engine(engine, work, memory) as running:
            tally = pipeline.run(running, inputs, work, on_stage)
        on_stage("data set")
        simulated = any(is_simulated(file) for file in files)
        with prefix_errors(labels or out):
            dataset = _assemble.assemble(
                work,
                account_labels,
                name=_name(name or f"ethereum:{out.name}", simulated),
                source="SIMULATED: " * simulated + _source(tally, inputs, labels, seed),
                seed=seed,
            )
        tables = {file: work / file for file in (_assemble.ACCOUNTS, _assemble.EDGES)}
        storage.save(dataset, out, overwrite=overwrite, tables=tables)
    num_labelled = int(np.sum(dataset.y != UNLABELLED))
    return Built(storage.load(out, mmap=True), tally, len(account_labels), len(account_labels) - num_labelled)


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


def _name(name: str, simulated: bool) -> str:
    if not simulated or "simulated" in name:
        return name
    prefix, colon, last = name.rpartition(":")
    return f"{prefix}{colon}simulated-{last}"


def _source(tally: Tally, inputs: BuildInputs, labels: Path | None, seed: int) -> str:
    parts = [f"{tally.kept:,} transactions ({', '.join(tally.formats)})"]
    if inputs.as_of is not None:
        parts.append(f"as of {datetime.fromtimestamp(inputs.as_of, UTC):%Y-%m-%d %H:%M:%S} UTC")
    if labels is not None:
        parts.append(f"labels of {labels.name}, 7:1:2 split of seed {seed}")
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
