"""Dates of a build, and the split of accounts by the time they are first seen.

Training accounts are those that have a transaction until the first date, validation accounts those that appear until
the second, test accounts those that appear later. Nothing may see its future: features and edges of training accounts
and of all their neighbours are as of the first date, those of validation accounts as of the second. A data set has one
graph, so it contains the accounts as of the latest date, followed by copies as of the earlier dates without an edge
between them; the id of a copy ends in ``@`` and its date.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from datetime import time as clock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.data import COPY, UNLABELLED, Dataset, Split
from mggcn.errors import InputError
from mggcn.ethereum._table_files import BuildInputs
from mggcn.graph import Graph, index_dtype

_PREFIX = "time:"


def parse_as_of(text: str, option: str = "as_of") -> int:
    """Return the last second to include: the end of a date, or a time; in UTC unless the time has another zone."""
    try:
        with suppress(ValueError):
            return int(datetime.combine(date.fromisoformat(text), clock(23, 59, 59), UTC).timestamp())
        moment = datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).timestamp())
    except (ValueError, OverflowError):
        raise InputError(
            f"{option}: {text!r} is neither a date such as 2020-01-31 nor a time such as 2020-01-31T12:00:00"
        ) from None


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

    def check(self, inputs: BuildInputs, *, has_labels: bool) -> None:
        """Raise InputError unless a build can be split by time."""
        if not has_labels:
            raise InputError("split: needs labels=…")
        if inputs.from_tables:
            raise InputError("split: exported tables are of one date; build from transactions to split by time")
        if inputs.balances is not None:
            raise InputError("split: balances=… are of one date, so earlier accounts would see their future")
        if inputs.as_of is not None and inputs.as_of <= self.until[1]:
            raise InputError(f"split: {self.dates[1]} is not before as_of")

    def inputs(self, inputs: BuildInputs) -> list[BuildInputs]:
        """What snapshots are built from: the latest, that of validation, that of training."""
        return [inputs, *(replace(inputs, as_of=until) for until in reversed(self.until))]

    def join(self, snapshots: Sequence[Dataset]) -> Dataset:
        """Return the data set of the latest accounts with copies as of earlier dates.

        Args:
            snapshots: the latest, that of validation, that of training; classes are those of the latest.
        """
        latest, val, train = snapshots
        starts = np.cumsum([0, latest.num_nodes, val.num_nodes])
        labels = [latest.y]
        for copies in (val, train):
            positions = _positions(latest, copies)
            labels.append(np.where(positions >= 0, latest.y[positions], UNLABELLED))
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
    indptr, indices, num_nodes, num_stored = [np.zeros(1, np.int64)], [], 0, 0
    dtype = index_dtype(sum(graph.num_nodes for graph in graphs))
    for graph in graphs:
        indptr.append(graph.indptr[1:] + num_stored)
        indices.append(np.add(graph.indices, num_nodes, dtype=dtype))
        num_nodes, num_stored = num_nodes + graph.num_nodes, num_stored + graph.num_stored
    return Graph(np.concatenate(indptr), np.concatenate(indices), "both")
