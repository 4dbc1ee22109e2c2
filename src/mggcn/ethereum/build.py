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
from mggcn.ethereum import assemble, engines, pipeline
from mggcn.ethereum.labelling import Labels, read_labels
from mggcn.ethereum.pipeline import Inputs, Tally
from mggcn.ethereum.simulate import is_simulated

EngineName = Literal["duckdb", "spark"]


@dataclass(frozen=True)
class Built:
    """A data set and how it came about.

    Attributes:
        dataset: as stored.
        tally: what became of the rows.
        labels: how many accounts the label file names; 0 without one.
        unknown: how many of them have no transaction.
    """

    dataset: Dataset
    tally: Tally
    labels: int
    unknown: int


def build(
    inputs: Inputs,
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
        inputs: what to read.
        out: the folder to make.
        labels: a file with the columns address and label.
        engine: what carries out the tables.
        memory: how much of it the engine may use.
        name: what runs call the data set; ``ethereum:`` and the folder's name when left out, which makes the paper's
            settings the defaults. That of simulated rows always has ``simulated`` in it.
        seed: of the split.
        overwrite: replace an existing dataset folder.
        quiet: do not tell the stages on standard error.
    """
    storage.check_free(out, overwrite=overwrite)
    files = inputs.files()
    for file in files:
        if file.resolve().is_relative_to(out.resolve()):
            raise InputError(f"{out}: holds {file.name}, which is to be read, so it is not replaced")
    known = None if labels is None else read_labels(labels, any_ids=inputs.any_ids)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.work.", dir=out.parent) as folder, _telling(quiet) as say:
        work = Path(folder)
        with engines.opened(engine, work, memory) as running:
            tally = pipeline.run(running, inputs, work, say)
            stages = {stage: running.files(stage) for stage in ("features", "links")}
        say("data set")
        tables = {file: work / file for file in ("accounts.parquet", "edges.parquet")}
        accounts = assemble.read_accounts(stages["features"], known, tables["accounts.parquet"])
        graph, attributes = assemble.read_graph(stages["links"], accounts.y.size, work, tables["edges.parquet"])
        simulated = any(is_simulated(file) for file in files)
        with prefix_errors(labels or out):
            dataset = assemble.assemble(
                accounts,
                graph,
                attributes,
                known,
                name=_name(name or f"ethereum:{out.name}", simulated),
                source="SIMULATED: " * simulated + _source(tally, inputs, labels, seed),
                seed=seed,
            )
        storage.save(dataset, out, overwrite=overwrite, tables=tables)
    stored = storage.load(out, mmap=True)
    return Built(stored, tally, *_known(known, accounts))


def parse_as_of(text: str) -> int:
    """The last second that counts: the end of a date, or a time, both in UTC unless the time says otherwise."""
    try:
        with suppress(ValueError):
            return int(datetime.combine(date.fromisoformat(text), clock(23, 59, 59), UTC).timestamp())
        moment = datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).timestamp())
    except (ValueError, OverflowError):
        raise InputError(
            f"--as-of: {text!r} is neither a date such as 2020-01-31 nor a time such as 2020-01-31T12:00:00"
        ) from None


def split_lines(dataset: Dataset) -> list[str]:
    """How many accounts of each class train, choose the epoch and test."""
    if dataset.split is None:
        return []
    parts = [
        np.bincount(dataset.y[part], minlength=dataset.num_classes)
        for part in (dataset.split.train, dataset.split.val, dataset.split.test)
    ]
    rows = [
        ("class", "train", "val", "test"),
        *zip(dataset.classes, *(map(str, part.tolist()) for part in parts), strict=True),
    ]
    return [f"{one:<28} {train:>7} {val:>7} {test:>7}" for one, train, val, test in rows]


def _name(name: str, simulated: bool) -> str:
    if not simulated or "simulated" in name:
        return name
    kind, colon, last = name.rpartition(":")
    return f"{kind}{colon}simulated-{last}"


def _known(labels: Labels | None, accounts: assemble.Accounts) -> tuple[int, int]:
    if labels is None:
        return 0, 0
    return len(labels.names), len(labels.names) - int(np.sum(accounts.y != UNLABELLED))


def _source(tally: Tally, inputs: Inputs, labels: Path | None, seed: int) -> str:
    told = [f"{tally.kept:,} transactions ({', '.join(tally.formats)})"]
    if inputs.as_of is not None:
        told.append(f"as of {datetime.fromtimestamp(inputs.as_of, UTC):%Y-%m-%d %H:%M:%S} UTC")
    if labels is not None:
        told.append(f"labels of {labels.name}, 7:1:2 split of seed {seed}")
    return "; ".join(told)


@contextmanager
def _telling(quiet: bool) -> Iterator[pipeline.Say]:
    """Tell each stage when it starts and how long the one before took, on standard error."""
    begun: list[tuple[str, float]] = []

    def end() -> None:
        if begun and not quiet:
            sys.stderr.write(f"{begun[-1][0]:<14} {time.perf_counter() - begun[-1][1]:8.1f} s\n")

    def say(stage: str) -> None:
        end()
        begun.append((stage, time.perf_counter()))

    yield say
    end()
