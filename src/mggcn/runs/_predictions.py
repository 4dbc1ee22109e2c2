"""Predictions: a table of nodes, thresholds for alerts, and what known labels say of it; and embeddings.

Tables have the user's ids; they are files and pandas data frames.
"""

import csv
import io
import itertools
import json
import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray

from mggcn import methods
from mggcn._io.files import check_file, replacing_file, write_atomically
from mggcn.data import BACKGROUND, Dataset, ids_without_date
from mggcn.errors import InputError, InputWarning, prefix_errors, require, unknown
from mggcn.runs._matching import NEW, PART_NAMES, TEST, TRAIN, VAL, labels_in, match_features, parts_of
from mggcn.training import Ranked, Tally, Top

if TYPE_CHECKING:
    import pandas

    from mggcn.runs._run import Run

FORMATS = (".csv", ".jsonl", ".parquet")
NUM_REASONS = 3
"""The most reasons of a node."""

_AT_ONCE = 1 << 17

_UNLIKE = 0.8  # the area under the ROC curve from which on labelled nodes do not resemble the graph
_FEWEST, _MOST = 50, 2_000  # nodes of each kind that are compared

Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The lowest probability of each class that has the required precision on the validation nodes.

    It is NaN if none has it, and for the class Background, which needs no alert. Of each class, ``reached`` and
    ``members`` are the numbers of validation nodes that reach the threshold and that belong to it. The precision of a
    class in ``base_rates`` is that where it has this share of the nodes, instead of its share of the validation nodes.
    """

    required: float
    classes: tuple[str, ...]
    values: NDArray[np.float64]
    reached: NDArray[np.int64]
    members: NDArray[np.int64]
    base_rates: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls, required: float, validated: "Predictions", base_rates: Mapping[str, float] | None = None
    ) -> "Thresholds":
        """Choose the thresholds by predictions of validation nodes."""
        rates = base_rates or {}
        p, classes = validated.probabilities, validated.classes
        values, labels = np.full(len(classes), np.nan), labels_in(validated.dataset, classes, validated.nodes)
        for label, name in enumerate(classes):
            bound = Ranked(p[:, label], labels == label).threshold_for(required, rates.get(name))
            if bound is not None and name != BACKGROUND:
                values[label] = bound
        members = np.bincount(labels, minlength=len(classes))
        return cls(required, classes, values, (p >= values).sum(axis=0), members, rates)

    def alerts(self, probabilities: NDArray[np.float64]) -> NDArray[np.str_]:
        """[n] the most probable of the classes that a node is an alert for; empty if it is none."""
        reached = probabilities >= self.values
        best = np.where(reached, probabilities, -1).argmax(axis=1)
        return np.where(reached.any(axis=1), np.array(self.classes)[best], "")


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
    thresholds: Thresholds | None = None
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
    def positions_in_class(self) -> NDArray[np.int64]:
        """[n] the position of each node among those with the same most probable class; 1 is the most probable."""
        positions, highest = np.empty(self.nodes.size, np.int64), self.probabilities.max(axis=1)
        for label in range(len(self.classes)):
            rows = np.flatnonzero(self.class_index == label)
            positions[rows[np.argsort(-highest[rows], kind="stable")]] = np.arange(1, rows.size + 1)
        return positions

    @property
    def ranks(self) -> NDArray[np.int64]:
        """Deprecated: the former name of ``positions_in_class``."""
        warnings.warn("Predictions.ranks: renamed to positions_in_class", FutureWarning, stacklevel=2)
        return self.positions_in_class

    @property
    def named(self) -> "tuple[Run, ...]":
        """The runs that were named: those that are not the other recipes of another run."""
        others = {id(other) for run in self.runs for other in run.others}
        return tuple(run for run in self.runs if id(run) not in others)

    @property
    def model(self) -> str:
        """The names of the runs."""
        names = [run.path.name if run.path else f"{run.record.method}-seed{run.record.seed}" for run in self.named]
        return " + ".join(names)

    @property
    def origin(self) -> dict[str, str]:
        """The model, the data with the first digits of its digest, and the time in UTC."""
        return {
            "model": self.model,
            "data": f"{self.dataset.name} {self.dataset.digest[:12]}",
            "scored_at": f"{self.scored_at:%Y-%m-%dT%H:%M:%SZ}",
        }

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
        known ``label``, the ``position_in_class``, ``alert`` and ``reason_1`` to ``reason_3`` if they were asked for,
        and ``model``, ``data`` and ``scored_at``, which say where the row is from.
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
            "position_in_class": self.positions_in_class[rows],
        }
        if self.thresholds is not None:
            columns["alert"] = self.thresholds.alerts(p)
        if self.reasons is not None:
            texts = np.full((NUM_REASONS, nodes.size), None, object)
            for column, row in enumerate(range(*rows.indices(self.nodes.size))):
                if found := self.reasons.get(row):
                    texts[: len(found), column] = found
            columns |= {f"reason_{number}": column for number, column in enumerate(texts, 1)}
        return columns | {name: np.full(nodes.size, text, object) for name, text in self.origin.items()}


@dataclass(frozen=True, eq=False)
class Assessment:
    """Metrics of predictions where labels are known.

    In the graph that the runs were trained on, the test nodes count; in another one the runs' test nodes and new nodes.
    Nodes do not count whose labels are read to score others.
    """

    predictions: Predictions

    @cached_property
    def is_own(self) -> bool:
        """Whether the graph is one that the runs were trained on."""
        return any(run.is_trained_on(self.predictions.dataset) for run in self.predictions.runs)

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """[n] known labels as indices of the runs' classes; -1 for unknown ones and for other classes."""
        return labels_in(self.predictions.dataset, self.predictions.classes, self.predictions.nodes)

    @property
    def readers(self) -> list[str]:
        """The methods that read labels of the graph."""
        return [run.record.method for run in self.predictions.runs if run.plan.method.reads_labels]

    @cached_property
    def is_read(self) -> NDArray[np.bool_]:
        """[n] whether the label of a node is read to score others."""
        if not self.readers:
            return np.zeros(self.predictions.nodes.size, bool)
        return np.asarray(methods.known_labels(self.predictions.dataset)[self.predictions.nodes] >= 0)

    @property
    def is_training(self) -> NDArray[np.bool_]:
        """[n] whether a node is of the training part, or its label is read."""
        return np.asarray((self.predictions.part_index == TRAIN) | self.is_read)

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """[n] whether a node counts in metrics."""
        parts = (TEST,) if self.is_own else (TEST, NEW)
        return np.asarray((self.labels >= 0) & ~self.is_read & np.isin(self.predictions.part_index, parts))

    @cached_property
    def in_period(self) -> NDArray[np.bool_]:
        """[n] whether a node is of the period of the nodes that count: the runs were not fitted to it.

        In a data set with copies as of earlier dates, it is in none of them: it was first seen after the latest.
        """
        data, nodes = self.predictions.dataset, self.predictions.nodes
        is_open = ~self.is_training & (self.predictions.part_index != VAL) & (self.counted | (self.labels < 0))
        if data.copies and self.is_own:
            earlier = np.unique(ids_without_date(data, np.arange(data.num_current, data.num_nodes)))
            is_open &= ~np.isin(ids_without_date(data, nodes), earlier)
        return np.asarray(is_open)

    @property
    def fitted(self) -> tuple[int, int]:
        """The numbers of training and of validation nodes with a known label that nothing reads."""
        is_known = (self.labels >= 0) & ~self.is_read
        train, val = (int((is_known & (self.predictions.part_index == part)).sum()) for part in (TRAIN, VAL))
        return train, val

    @property
    def num_unknown(self) -> int:
        """The number of nodes whose label is of no class of the runs."""
        return int(((self.predictions.dataset.y[self.predictions.nodes] >= 0) & (self.labels < 0)).sum())

    def tallies(self) -> Iterator[tuple[str, Tally]]:
        """The metrics of the nodes of each part that count, for ``test`` and ``new``."""
        for name, part in (("test", TEST), ("new", NEW)):
            tally = Tally(len(self.predictions.classes))
            rows = np.flatnonzero(self.counted & (self.predictions.part_index == part))
            for start in range(0, rows.size, _AT_ONCE):
                chunk = rows[start : start + _AT_ONCE]
                p = self.predictions.probabilities[chunk]
                log_p = torch.from_numpy(np.log(np.maximum(p, np.finfo(np.float64).tiny)))
                tally.add(log_p, torch.from_numpy(self.labels[chunk]), p)
            if rows.size:
                yield name, tally

    def top(self, label: int, k: int, among: NDArray[np.bool_] | None = None) -> Top:
        """The rows with the highest probability of a class, among all or some nodes, and their precision."""
        rows = np.arange(self.labels.size) if among is None else np.flatnonzero(among)
        top = Top.of(k, self.predictions.probabilities[rows, label], self.labels[rows], label)
        return Top(rows[top.indices], top.known, top.correct)

    def ranked(self, label: int) -> Ranked:
        """How well the probabilities of a class rank the nodes that count."""
        return self._ranked(label, self.counted)

    def bounded(self, label: int) -> Ranked:
        """The same for all nodes of the period, where every node without a label counts as no member.

        Some of them may be unknown members, so the areas and precisions are lower bounds.
        """
        return self._ranked(label, self.in_period)

    def _ranked(self, label: int, among: NDArray[np.bool_]) -> Ranked:
        return Ranked(self.predictions.probabilities[among, label], self.labels[among] == label)

    def alerts(self) -> NDArray[np.int64]:
        """[classes, 4] the alerts among the nodes that count, those of the class, its nodes, and other alerts."""
        predictions, counts = self.predictions, np.zeros((len(self.predictions.classes), 4), np.int64)
        if (thresholds := predictions.thresholds) is None:
            return counts
        is_other = ~self.counted & ~self.is_training & (predictions.part_index != VAL)
        for label in range(len(counts)):
            reached = predictions.probabilities[:, label] >= thresholds.values[label]
            is_member = self.counted & (self.labels == label)
            kinds = (reached & self.counted, reached & is_member, is_member, reached & is_other)
            counts[label] = [kind.sum() for kind in kinds]
        return counts


def validation_nodes(runs: "Sequence[Run]", data: Dataset, required: float) -> tuple[Dataset, NDArray[np.int64]]:
    """The training data of runs, which ``data`` may be, and its labelled nodes that all of them validated on."""
    if not 0 < required <= 1:
        raise InputError(f"at_precision: {required:g} is not a share above 0 and at most 1")
    if not runs[0].is_trained_on(data):
        try:
            data = runs[0].training_data
        except (InputError, OSError) as error:
            raise InputError(
                f"at_precision: needs the validation nodes of the training data, which are not available ({error})"
            ) from None
    nodes = np.flatnonzero(parts_of(runs, data, np.arange(data.num_nodes)) == VAL)
    nodes = nodes[labels_in(data, runs[0].classes, nodes) >= 0]
    if data.copies:
        nodes = np.intersect1d(nodes, data.require_split().val)  # without later copies of the same accounts
    if not nodes.size:
        raise InputError("at_precision: the runs have no validation nodes in common")
    return data, nodes


def check_base_rates(base_rates: Mapping[str, float], classes: Sequence[str], at_precision: float | None) -> None:
    """Raise InputError unless base rates are shares of classes, and thresholds depend on them."""
    if base_rates and at_precision is None:
        raise InputError("base_rates: only thresholds of at_precision depend on them")
    for name, rate in base_rates.items():
        if name not in classes:
            raise unknown("class", name, classes)
        if not 0 < rate < 1:
            raise InputError(f"base_rates: {rate:g} of {name} is not a share above 0 and below 1")


def separability(run: "Run", data: Dataset) -> float | None:
    """How well a classifier tells the nodes that a run was fitted to from others: a two-sample test on the features.

    It is the area under the ROC curve of a random forest, out of bag: near 0.5 if they are alike, and near 1 if the
    nodes that were fitted, those of the class Background among them, are a special kind; probabilities that were
    calibrated on them then say nothing about the others. None without features, with too few nodes of a kind, or if the
    training data is not available.
    """
    if not data.num_features:
        return None
    try:
        trained = data if run.is_trained_on(data) else run.training_data
    except (InputError, OSError):
        return None
    rng = np.random.default_rng(run.record.seed)
    labelled = np.flatnonzero(parts_of([run], trained, np.arange(trained.num_nodes)) != NEW)
    others = rng.choice(data.num_nodes, min(4 * _MOST, data.num_nodes), replace=False)
    others = others[(parts_of([run], data, others) == NEW) & (others < data.num_nodes - data.others)]
    size = min(labelled.size, others.size, _MOST)
    if size < _FEWEST:
        return None

    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import roc_auc_score

    with warnings.catch_warnings(action="ignore", category=InputWarning):  # the prediction has given them
        rows = [
            match_features(dataset, run.record.dataset).x[np.sort(nodes)]
            for dataset, nodes in ((trained, rng.permutation(labelled)[:size]), (data, others[:size]))
        ]
    x = np.concatenate(rows) if isinstance(rows[0], np.ndarray) else scipy.sparse.vstack(rows).tocsr()
    is_labelled = np.repeat([1, 0], size)
    forest = RandomForestClassifier(100, min_samples_leaf=5, oob_score=True, random_state=0).fit(x, is_labelled)
    return float(roc_auc_score(is_labelled, forest.oob_decision_function_[:, 1]))


def unlike(runs: "Sequence[Run]", data: Dataset) -> str | None:
    """A note if the nodes that runs were fitted to do not resemble the other nodes of a graph, else None."""
    separable = max((separability(run, data) or 0.0 for run in runs), default=0.0)
    if separable < _UNLIKE:
        return None
    fitted, advice = "labelled nodes", "see background in mggcn.ethereum.build" if data.id_name == "address" else ""
    if BACKGROUND in runs[0].classes:
        fitted, advice = f"labelled nodes and those of {BACKGROUND}", "precision is that of test nodes only"
    return (
        f"{data.name}: the {fitted} do not resemble the others (a classifier tells them apart with ROC-AUC "
        f"{separable:.2f}), so classes and probabilities of other nodes are not reliable"
    ) + (f"; {advice}" if advice else "")


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


def check_format(path: Path, kind: Literal["predictions", "embeddings"] = "predictions") -> None:
    """Raise InputError, before any work is done, if a table of this kind cannot be written to this file."""
    formats = (*FORMATS, ".npy") if kind == "embeddings" else FORMATS
    if path.suffix not in formats:
        listed = f"{', '.join(formats[:-1])} or {formats[-1]}"
        raise InputError(f"{path}: {kind} are written as {listed}, not {path.suffix or 'no suffix'}")
    check_file(path)
    if path.suffix == ".parquet":
        with prefix_errors(path):
            require("pyarrow", "tables")


def write_table(path: Path, chunks: Iterable[Columns]) -> None:
    """Write rows in the format of the suffix, some at a time; the file appears when all are written."""
    with replacing_file(path) as temporary:
        if path.suffix == ".parquet":
            _write_parquet(temporary, chunks)
            return
        with temporary.open("w", encoding="utf-8", newline="") as file:
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
