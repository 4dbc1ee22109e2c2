"""Columns of a table as features: numbers, booleans, dates and text, with empty cells.

A table is read twice: once to see what each column holds, once to fill in the features. It is never in memory as text.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from mggcn.errors import InputError

_DAY = 86400.0


def text_of(value: Any) -> str:
    """A cell as text: empty if the cell is, and whole numbers without a decimal point."""
    if isinstance(value, str):
        return value.strip()
    if value is None or value != value:  # true of NaN and NaT
        return ""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float | np.floating) and float(value).is_integer() else str(value)


KINDS = ("empty", "number", "boolean", "date", "text", "other")


def parsed(values: "Cells") -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """The kind of each cell as an index of :data:`KINDS`, and its number, NaN if it has none."""
    numbers, kind = None, "number"
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        kind = "date"
        numbers = (values - np.datetime64(0, "D")) / np.timedelta64(1, "D")
    elif isinstance(values, np.ndarray) and values.dtype.kind in "iufb":
        kind = "boolean" if values.dtype == bool else "number"
        numbers = values.astype(np.float64)
    elif all(type(value) is str for value in values):
        with suppress(ValueError):
            numbers = np.array(values, np.float64)
            numbers = None if np.isnan(numbers).any() else numbers
    if numbers is None:
        pairs = [_parse_text(value) if isinstance(value, str) else _parse(value) for value in values]
        kinds = np.array([KINDS.index(kind) for kind, _ in pairs], np.int8)
        return kinds, np.array([number for _, number in pairs], np.float64)
    return np.where(np.isnan(numbers), np.int8(0), np.int8(KINDS.index(kind))), numbers


def _parse(value: Any) -> tuple[str, float]:
    if value is None:
        return "empty", math.nan
    if isinstance(value, bool | np.bool_):
        return "boolean", float(value)
    if isinstance(value, date):
        return ("date", _days(value)) if value == value else ("empty", math.nan)  # false of NaT
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return "other", math.nan
    return ("empty", math.nan) if math.isnan(number) else ("number", number)


@lru_cache(maxsize=1 << 16)
def _parse_text(text: str) -> tuple[str, float]:
    text = text.strip()
    if not text:
        return "empty", math.nan
    if text.lower() in ("true", "false"):
        return "boolean", float(text.lower() == "true")
    try:
        number = float(text)
    except ValueError:
        pass
    else:
        return ("text", math.nan) if math.isnan(number) else ("number", number)
    try:
        return "date", _days(datetime.fromisoformat(text))
    except ValueError:
        return "text", math.nan


def _days(value: date) -> float:
    if not isinstance(value, datetime):
        return float(value.toordinal() - date(1970, 1, 1).toordinal())
    moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() / _DAY


def shown(value: Any) -> str:
    """A cell in a message."""
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= 60 else f"{text[:57]}…"


Cells: TypeAlias = Sequence[Any] | NDArray[Any]
Kind = Literal["number", "boolean", "date", "category"]

MOST_CATEGORIES = 100
_FEW_CATEGORIES = 10  # are accepted in a table of any length
BLOCK = 1 << 17
"""The rows of features in which empty cells are filled at a time."""


class ColumnEncoding(msgspec.Struct, frozen=True):
    """How a column of a table became features.

    Attributes:
        name: of the column.
        kind: ``number``; ``boolean``, 0 or 1; ``date``, days since 1970-01-01 in UTC; or ``category``.
        mean: over the training nodes, without empty cells; fills empty cells. 0 for categories.
        categories: the texts that have a feature each, ``name=text``, which is 1 or 0.
        has_empty: whether a cell was empty; a last feature, ``name is empty``, then says which.
    """

    name: str
    kind: Kind
    mean: float = 0.0
    categories: tuple[str, ...] = ()
    has_empty: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """The names of its features."""
        values = [f"{self.name}={text}" for text in self.categories] if self.kind == "category" else [self.name]
        return (*values, f"{self.name} is empty") if self.has_empty else tuple(values)


@dataclass(frozen=True)
class Chunk:
    """Some rows of a table.

    Attributes:
        columns: the cells of each column: an array of numbers, booleans or datetime64, or a sequence of Python objects.
        num_rows: the number of rows.
        at: the position of a row for messages, for example ``nodes.csv: line 7``.
    """

    columns: Mapping[str, Cells]
    num_rows: int
    at: Callable[[int], str]


def encoding_notes(columns: Sequence[ColumnEncoding]) -> Iterator[str]:
    """What categories and dates became."""
    texts = [f"{column.name!r} ({len(column.categories)})" for column in columns if column.kind == "category"]
    dates = [repr(column.name) for column in columns if column.kind == "date"]
    if texts:
        yield f"columns as categories: {', '.join(texts)}"
    if dates:
        yield f"dates as days since 1970-01-01: {', '.join(dates)}"


def feature_names(columns: Iterable[ColumnEncoding]) -> tuple[str, ...]:
    """The names of all features of columns, in order."""
    return tuple(name for column in columns for name in column.features)


class Encoder:
    """Encodes columns as features in two passes over a table: :meth:`add` every chunk, then read their :meth:`rows`.

    Those in ``categories`` are categories even if they are numbers, dates, or many.
    """

    def __init__(self, names: Sequence[str], categories: Iterable[str] = ()) -> None:
        forced = set(categories)
        self._surveys = [_Survey(name, name in forced) for name in names]
        self._num_rows = 0
        for name in sorted(forced - set(names)):
            raise InputError(f"category {name!r} is not a feature column (these are {', '.join(map(repr, names))})")

    def add(self, chunk: Chunk) -> None:
        """Look at what the columns hold."""
        for survey in self._surveys:
            survey.add(chunk, self._num_rows)
        self._num_rows += chunk.num_rows

    @property
    def columns(self) -> tuple[ColumnEncoding, ...]:
        """What the columns are, after the first pass; InputError if that is not clear."""
        columns = tuple(survey.column() for survey in self._surveys)
        feature, count = Counter(feature_names(columns)).most_common(1)[0] if columns else ("", 1)
        if count > 1:
            owners = " and ".join(repr(column.name) for column in columns if feature in column.features)
            raise InputError(f"columns {owners} both have a feature {feature!r}: rename one, or leave it out")
        return columns

    def rows(self, chunks: Iterable[Chunk]) -> Iterator[NDArray[np.float32]]:
        """The features of chunks, of the first pass or others; empty cells of numbers are NaN.

        A text that the first pass did not see is in no category.
        """
        columns = self.columns
        for chunk in chunks:
            x, position = np.zeros((chunk.num_rows, len(feature_names(columns))), np.float32), 0
            for column in columns:
                _write(x[:, position : position + len(column.features)], chunk, column)
                position += len(column.features)
            yield x

    def encode(self, chunks: Iterable[Chunk]) -> NDArray[np.float32]:
        """The features of all rows, as :meth:`rows` yields them chunk by chunk."""
        x, start = np.empty((self._num_rows, len(feature_names(self.columns))), np.float32), 0
        for rows in self.rows(chunks):
            x[start : start + len(rows)] = rows
            start += len(rows)
        return x


class _Survey:
    """What a column holds, chunk by chunk: how many cells of each kind, the first of each, and the texts."""

    def __init__(self, name: str, is_forced: bool) -> None:
        self._name, self._is_forced = name, is_forced
        self._counts = np.zeros(len(KINDS), np.int64)
        self._first: dict[str, tuple[int, str]] = {}  # the row of the first cell of a kind, and a message about it
        self._texts: set[str] = set()

    def add(self, chunk: Chunk, start: int) -> None:
        values = chunk.columns[self._name]
        kinds, _ = parsed(values)
        counts = np.bincount(kinds, minlength=len(KINDS))
        for number in np.flatnonzero(counts).tolist():
            if KINDS[number] not in self._first:
                row = int(np.argmax(kinds == number))
                message = f"{chunk.at(row)}: column {self._name!r}: {shown(values[row])}"
                self._first[KINDS[number]] = (start + row, message)
        self._counts += counts
        for text in map(text_of, values):
            if len(self._texts) > MOST_CATEGORIES and not self._is_forced:
                break  # with more no column becomes categories by itself
            if text:
                self._texts.add(text)

    def column(self) -> ColumnEncoding:
        """Decide what the column is, or raise InputError."""
        counts = {kind: count for kind, count in zip(KINDS, self._counts.tolist(), strict=True) if count}
        has_empty = counts.pop("empty", 0) > 0
        total = sum(counts.values())
        texts = tuple(sorted(self._texts))
        if "other" in counts:
            raise InputError(f"{self._first['other'][1]} is not a number, a date or text")
        if not self._is_forced:
            if counts.keys() <= {"number", "boolean"}:
                return ColumnEncoding(
                    self._name, "boolean" if counts.keys() == {"boolean"} else "number", has_empty=has_empty
                )
            if counts.keys() == {"date"}:
                return ColumnEncoding(self._name, "date", has_empty=has_empty)
            for kind in ("number", "date"):
                if 2 * counts.get(kind, 0) > total:
                    _, message = min(self._first[other] for other in counts.keys() - {kind})
                    raise InputError(f"{message} is not a {kind}")
            limit = min(MOST_CATEGORIES, max(_FEW_CATEGORIES, total // 2))
            if len(texts) > limit:
                _, message = min(self._first[kind] for kind in counts)
                raise InputError(
                    f"{message} is one of more than {limit} different texts in {total:,} cells: "
                    "leave the column out, or name it as the id or as a category"
                )
        return ColumnEncoding(self._name, "category", categories=texts, has_empty=has_empty)


def _write(x: NDArray[np.float32], chunk: Chunk, column: ColumnEncoding) -> None:
    """Write the features of a column into ``x``, which is 0; empty cells of numbers become NaN."""
    values = chunk.columns[column.name]
    if column.kind == "category":
        number_of = {text: number for number, text in enumerate((*column.categories, ""))}
        codes = np.array([number_of.get(text_of(value), x.shape[1]) for value in values], dtype=np.int64)
        (rows,) = np.nonzero(codes < x.shape[1])
        x[rows, codes[rows]] = 1
        return
    _, numbers = parsed(values)
    with np.errstate(over="ignore"):
        x[:, 0] = numbers
    infinite = np.flatnonzero(np.isinf(x[:, 0]))
    if infinite.size:
        where, value = chunk.at(int(infinite[0])), shown(values[infinite[0]])
        raise InputError(f"{where}: column {column.name!r}: {value} is not a finite 32-bit number")
    if column.has_empty:
        x[:, 1] = np.isnan(numbers)


def fill(
    blocks: Callable[[], Iterable[NDArray[np.float32]]],
    columns: Sequence[ColumnEncoding],
    train: NDArray[np.int64] | None,
) -> tuple[tuple[ColumnEncoding, ...], list[str]]:
    """Fill empty cells with the mean over the rows ``train``, over all rows if None or if none of them has a value.

    ``blocks`` returns the rows of the features, some at a time, which are read and then written. Returned are the
    columns with their means, and a note on empty cells if there are any.
    """
    positions = np.cumsum([0, *(len(column.features) for column in columns)]).tolist()
    sums, known = np.zeros((2, len(columns))), np.zeros((2, len(columns)), np.int64)  # of the rows of train, and of all
    empty, start = np.zeros(len(columns), np.int64), 0
    for x in blocks():
        within = slice(None) if train is None else train[(start <= train) & (train < start + len(x))] - start
        for number, (column, position, stop) in enumerate(zip(columns, positions, positions[1:], strict=False)):
            if column.has_empty:
                empty[number] += np.count_nonzero(x[:, stop - 1])
            for group, values in enumerate((x[within, position], x[:, position])):
                numbers = values[~np.isnan(values)]
                sums[group, number] += numbers.sum(dtype=np.float64)
                known[group, number] += numbers.size
        start += len(x)
    sums, known = np.where(known[0], (sums[0], known[0]), (sums[1], known[1]))
    means = (sums / np.maximum(known, 1)).tolist()
    filled = tuple(
        column if column.kind == "category" else msgspec.structs.replace(column, mean=mean)
        for column, mean in zip(columns, means, strict=True)
    )
    if not empty.any():
        return filled, []
    for x in blocks():
        for column, position in zip(filled, positions, strict=False):
            if column.has_empty and column.kind != "category":
                values = x[:, position]
                values[np.isnan(values)] = column.mean
    part = "column" if train is None else "training nodes"
    counts = zip(columns, empty.tolist(), strict=True)
    listed = ", ".join(f"{column.name!r} ({count:,})" for column, count in counts if count)
    return filled, [f"empty cells, marked in a feature each, numbers filled with the mean of the {part}: {listed}"]
