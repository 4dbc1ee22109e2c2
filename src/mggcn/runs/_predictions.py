"""Tables of nodes under the user's ids: predictions and embeddings, as files and as pandas data frames."""

import csv
import io
import itertools
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mggcn._io.files import check_file_writable, replacing_file, write_atomically
from mggcn.data import Dataset
from mggcn.errors import InputError, prefix_errors, require
from mggcn.runs._matching import PART_NAMES

if TYPE_CHECKING:
    import pandas

    from mggcn.runs._assessment import Thresholds
    from mggcn.runs._run import Run

FORMATS = (".csv", ".jsonl", ".parquet")
NUM_REASONS = 3
"""The most reasons of a node."""

_AT_ONCE = 1 << 17

Columns = Mapping[str, NDArray[Any]]


def check_format(path: Path, kind: Literal["predictions", "embeddings"] = "predictions") -> None:
    """Raise InputError, before any work is done, if a table of this kind cannot be written to this file."""
    formats = (*FORMATS, ".npy") if kind == "embeddings" else FORMATS
    if path.suffix not in formats:
        listed = f"{', '.join(formats[:-1])} or {formats[-1]}"
        raise InputError(f"{path}: {kind} are written as {listed}, not {path.suffix or 'no suffix'}")
    check_file_writable(path)
    if path.suffix == ".parquet":
        with prefix_errors(path):
            require("pyarrow", "tables")


def write_table(path: Path, chunks: Iterable[Columns]) -> None:
    """Write rows in the format of the suffix, some at a time; the file appears when all are written."""
    with replacing_file(path) as draft:
        if path.suffix == ".parquet":
            _write_parquet(draft, chunks)
            return
        with draft.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            for number, columns in enumerate(chunks):
                rows = zip(*(column.tolist() for column in columns.values()), strict=True)
                if path.suffix == ".jsonl":
                    values = (dict(zip(columns, row, strict=True)) for row in rows)
                    file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in values)
                    continue
                if number == 0:
                    writer.writerow(columns)
                writer.writerows(rows)


def _write_parquet(path: Path, chunks: Iterable[Columns]) -> None:
    """Every chunk is a row group; the types of columns are those of the first. Objects are text or missing."""
    from pyarrow import array, parquet, string, table

    with ExitStack() as stack:
        writer = None
        for columns in chunks:
            types = {name: string() if column.dtype.kind in "OU" else None for name, column in columns.items()}
            rows = table({name: array(np.ascontiguousarray(columns[name]), kind) for name, kind in types.items()})
            writer = writer or stack.enter_context(parquet.ParquetWriter(path, rows.schema))
            writer.write_table(rows)


def to_frame(columns: Columns, index: str | None = None) -> "pandas.DataFrame":
    """Columns as a data frame, one of them as its index."""
    require("pandas", "pandas")
    import pandas

    values = {name: column.tolist() if column.dtype.kind in "OU" else column for name, column in columns.items()}
    frame = pandas.DataFrame(values)
    return frame if index is None else frame.set_index(index)


@dataclass(frozen=True, eq=False)
class Predictions:
    """Class probabilities of nodes, and what is known of these nodes.

    Attributes:
        dataset: the graph.
        nodes: [n] node numbers.
        probabilities: [n, classes]; rows sum to 1.
        part_index: [n] the index of each node's part, train, val, test or new.
        runs: the runs whose mean probabilities these are.
        thresholds: of alerts, if a precision was asked for.
        reasons: of some rows, if reasons were asked for: the features that speak most for the class, in words.
        scored_at: when.
    """

    dataset: Dataset
    nodes: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    part_index: NDArray[np.int8]
    runs: "tuple[Run, ...]" = field(repr=False)
    thresholds: "Thresholds | None" = None
    reasons: Mapping[int, Sequence[str]] | None = field(default=None, repr=False)
    scored_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __repr__(self) -> str:
        return f"Predictions({self.nodes.size:,} nodes of {self.dataset.name!r}, classes {', '.join(self.classes)})"

    @property
    def classes(self) -> tuple[str, ...]:
        """The name of each class."""
        return self.runs[0].classes

    @property
    def ids(self) -> NDArray[np.generic]:
        """[n] the user's ids."""
        return self.dataset.ids_of(self.nodes)

    @cached_property
    def class_index(self) -> NDArray[np.int64]:
        """[n] the most probable class of each node, as an index of ``classes``."""
        return np.asarray(self.probabilities.argmax(axis=1), np.int64)

    @property
    def labels(self) -> NDArray[np.str_]:
        """[n] the name of the most probable class of each node."""
        return np.asarray(self.classes)[self.class_index]

    @property
    def known_labels(self) -> NDArray[np.object_]:
        """[n] the names of the known labels, None where there is none."""
        return np.array([*self.dataset.classes, None], object)[self.dataset.y[self.nodes]]  # -1 is the last entry

    @property
    def parts(self) -> NDArray[np.str_]:
        """[n] what the runs used each node for: train, val or test, or new for a node in no part of their splits.

        Nodes of another graph are recognised by their ids.
        """
        return np.array(PART_NAMES)[self.part_index]

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """[n] the rank of each node among those with the same most probable class, from 1 for the most probable."""
        ranks, highest = np.empty(self.nodes.size, np.int64), self.probabilities.max(axis=1)
        for label in range(len(self.classes)):
            rows = np.flatnonzero(self.class_index == label)
            ranks[rows[np.argsort(-highest[rows], kind="stable")]] = np.arange(1, rows.size + 1)
        return ranks

    @property
    def model(self) -> str:
        """The names of the runs."""
        names = [run.path.name if run.path else f"{run.record.method}-seed{run.record.seed}" for run in self.runs]
        return " + ".join(names)

    def save(self, path: str | Path, rows: slice = slice(None)) -> None:
        """Write the columns of :meth:`to_pandas` as ``.csv``, ``.jsonl`` or ``.parquet``, some rows at a time."""
        target = Path(path)
        check_format(target)
        first, last, _ = rows.indices(self.nodes.size)
        starts = range(first, last, _AT_ONCE)
        write_table(target, (self._columns(slice(start, min(start + _AT_ONCE, last))) for start in starts))

    def to_pandas(self) -> "pandas.DataFrame":
        """A row for each node, with its id as the index; needs the extra ``pandas``.

        The columns are the most probable ``class``, the ``part``, a probability per class (:func:`column_names`), the
        known ``label``, the ``rank``, ``alert`` and ``reason_1`` to ``reason_3`` if they were asked for, and ``model``,
        ``data`` and ``scored_at``, which say where the row is from.
        """
        return to_frame(self._columns(slice(None)), self.dataset.id_name)

    def _columns(self, rows: slice) -> Columns:
        nodes, p = self.nodes[rows], self.probabilities[rows]
        columns: dict[str, NDArray[Any]] = {
            self.dataset.id_name: self.dataset.ids_of(nodes),
            "class": np.asarray(self.classes)[self.class_index[rows]],
            "part": np.array(PART_NAMES)[self.part_index[rows]],
            **dict(zip(column_names(self.classes), p.T, strict=True)),
            "label": np.array([*self.dataset.classes, None], object)[self.dataset.y[nodes]],
            "rank": self.ranks[rows],
        }
        if self.thresholds is not None:
            columns["alert"] = self.thresholds.alerts(p)
        if self.reasons is not None:
            texts = np.full((NUM_REASONS, nodes.size), None, object)
            for column, row in enumerate(range(*rows.indices(self.nodes.size))):
                if found := self.reasons.get(row):
                    texts[: len(found), column] = found
            columns |= {f"reason_{number}": column for number, column in enumerate(texts, 1)}
        origin = {
            "model": self.model,
            "data": f"{self.dataset.name} {self.dataset.digest[:12]}",
            "scored_at": f"{self.scored_at:%Y-%m-%dT%H:%M:%SZ}",
        }
        return columns | {name: np.full(nodes.size, text, object) for name, text in origin.items()}


def column_names(classes: Sequence[str]) -> list[str]:
    """The column of each class's probability, a plain name in SQL: ``p_phish`` for Phish.

    Letters are in lower case and without accents, all other characters are ``_``. A name that an earlier class has gets
    a number.
    """
    names: list[str] = []
    for label in classes:
        text = unicodedata.normalize("NFKD", label).encode("ascii", "ignore").decode().lower()
        plain = "p_" + re.sub("[^a-z0-9]+", "_", text).strip("_")
        numbered = (f"{plain}_{number}" for number in itertools.count(2))
        names.append(next(name for name in itertools.chain([plain], numbered) if name not in names))
    return names


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Hidden representations of nodes.

    Attributes:
        nodes: [n] node numbers.
        ids: [n] the user's ids.
        values: [n, channels] float32, a row for each node.
        id_name: the name of the id column.
    """

    nodes: NDArray[np.int64]
    ids: NDArray[np.generic]
    values: NDArray[np.float32]
    id_name: str = "id"

    def save(self, path: str | Path) -> None:
        """Write the columns of :meth:`to_pandas` as ``.csv``, ``.jsonl``, ``.parquet``, or only values as ``.npy``."""
        target = Path(path)
        check_format(target, "embeddings")
        if target.suffix != ".npy":
            write_table(target, [self._columns()])
            return
        content = io.BytesIO()
        np.save(content, self.values)
        write_atomically(target, content.getvalue())

    def to_pandas(self) -> "pandas.DataFrame":
        """The columns ``h0``, ``h1`` … as a data frame, with the ids as its index; needs the extra ``pandas``."""
        return to_frame(self._columns(), self.id_name)

    def _columns(self) -> Columns:
        return {self.id_name: self.ids, **{f"h{column}": values for column, values in enumerate(self.values.T)}}
