"""Columns of a table as features: numbers, booleans, dates and text, with empty cells.

A table is read twice: once to see what each column holds, once to fill in the features. It is never in memory as text.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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


def numbers_of(values: Sequence[Any] | NDArray[Any]) -> NDArray[np.float64] | None:
    """Cells as numbers, NaN if empty; None if they must be parsed one by one."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        days: NDArray[np.float64] = (values - np.datetime64(0, "D")) / np.timedelta64(1, "D")
        return days
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufb":
        return values.astype(np.float64)
    if isinstance(values, np.ndarray) or not all(type(value) is str for value in values):
        return None
    try:
        numbers = np.array(values, dtype=np.float64)
    except ValueError:
        return None
    return None if np.isnan(numbers).any() else numbers


def parse(value: Any) -> tuple[str, float]:
    """The kind of a cell, and its number if it has one."""
    if isinstance(value, str):
        return _parse_text(value)
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
_FEW_CATEGORIES = 10  # so many are accepted in a table of any length


class Column(msgspec.Struct, frozen=True):
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


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Features from columns; the cells of numbers that were empty are NaN until :meth:`fill`.

    Attributes:
        x: [num_rows, features].
        columns: what the features are.
    """

    x: NDArray[np.float32]
    columns: tuple[Column, ...]

    def fill(self, train: NDArray[np.int64] | None) -> tuple[tuple[Column, ...], list[str]]:
        """Fill empty cells with the mean over ``train``, over all rows if None; the columns with it, and a note."""
        filled, counts = self.fill_columns(train)
        return filled, empty_note(counts, train)

    def fill_columns(self, train: NDArray[np.int64] | None) -> tuple[tuple[Column, ...], dict[str, int]]:
        """Like :meth:`fill`, with the number of empty cells of each column that has some instead of the note."""
        filled, position, counts = [], 0, {}
        for column in self.columns:
            values = self.x[:, position]
            if column.has_empty:
                counts[column.name] = int(self.x[:, position + len(column.features) - 1].sum(dtype=np.float64))
            mean = 0.0
            if column.kind != "category":
                known = values if train is None else values[train]
                mean = _mean(values if np.isnan(known).all() else known)
                values[np.isnan(values)] = mean
            filled.append(msgspec.structs.replace(column, mean=mean))
            position += len(column.features)
        return tuple(filled), counts


def encoding_notes(columns: Sequence[Column]) -> Iterator[str]:
    """What categories and dates became."""
    texts = [f"{column.name!r} ({len(column.categories)})" for column in columns if column.kind == "category"]
    dates = [repr(column.name) for column in columns if column.kind == "date"]
    if texts:
        yield f"columns as categories: {', '.join(texts)}"
    if dates:
        yield f"dates as days since 1970-01-01: {', '.join(dates)}"


def feature_names(columns: Iterable[Column]) -> tuple[str, ...]:
    """The names of all features of columns, in order."""
    return tuple(name for column in columns for name in column.features)


class Encoder:
    """Encodes columns as features in two passes over a table: :meth:`survey` every chunk, then :meth:`encode` them.

    Args:
        names: the columns.
        categories: columns whose values are categories even if they are numbers, dates, or many.
    """

    def __init__(self, names: Sequence[str], categories: Iterable[str] = ()) -> None:
        self._forced = set(categories)
        self._surveys = {name: _Survey(name) for name in names}
        self._num_rows = 0
        for name in sorted(self._forced - set(names)):
            raise InputError(f"category {name!r} is not a feature column (these are {', '.join(map(repr, names))})")

    def survey(self, chunk: Chunk) -> None:
        """Look at what the columns hold."""
        for name, survey in self._surveys.items():
            survey.add(chunk, self._num_rows, is_forced=name in self._forced)
        self._num_rows += chunk.num_rows

    @property
    def columns(self) -> tuple[Column, ...]:
        """What the columns are, after the survey; InputError if that is not clear."""
        columns = tuple(survey.column(name in self._forced) for name, survey in self._surveys.items())
        feature, count = Counter(feature_names(columns)).most_common(1)[0] if columns else ("", 1)
        if count > 1:
            owners = " and ".join(repr(column.name) for column in columns if feature in column.features)
            raise InputError(f"columns {owners} both have a feature {feature!r}: rename one, or leave it out")
        return columns

    def encode(self, chunks: Iterable[Chunk]) -> FeatureTable:
        """Encode the chunks, which are those of the survey again."""
        columns = self.columns
        x, start = np.zeros((self._num_rows, len(feature_names(columns))), np.float32), 0
        for chunk in chunks:
            write_features(x[start : start + chunk.num_rows], chunk, columns)
            start += chunk.num_rows
        return FeatureTable(x, columns)


@dataclass
class _Survey:
    """What the cells of a column hold: how many of each kind, the first of each, and the texts."""

    name: str
    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, tuple[int, str]] = field(default_factory=dict)  # the row, and position and value for messages
    texts: set[str] = field(default_factory=set)

    def add(self, chunk: Chunk, start: int, is_forced: bool) -> None:
        values = chunk.columns[self.name]
        numbers = None if is_forced else numbers_of(values)
        if numbers is not None:
            kind = {"b": "boolean", "M": "date"}.get(np.asarray(values[:1]).dtype.kind, "number")
            rows = np.flatnonzero(~np.isnan(numbers))
            self._count("empty", numbers.size - rows.size)
            self._count(kind, rows.size, start, chunk, int(rows[0]) if rows.size else 0)
        else:
            for row, value in enumerate(values):
                self._count(parse(value)[0], 1, start, chunk, row)
        for text in map(text_of, values):
            if len(self.texts) > MOST_CATEGORIES and not is_forced:
                break  # with more no column becomes categories by itself
            if text:
                self.texts.add(text)

    def _count(self, kind: str, count: int, start: int = 0, chunk: Chunk | None = None, row: int = 0) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + count
        if count and chunk and kind not in self.first:
            value = chunk.columns[self.name][row]
            self.first[kind] = (start + row, f"{chunk.at(row)}: column {self.name!r}: {shown(value)}")

    def column(self, is_forced: bool) -> Column:
        """Decide what the column is, or raise InputError."""
        counts = {kind: count for kind, count in self.counts.items() if count}
        has_empty = counts.pop("empty", 0) > 0
        total = sum(counts.values())
        if "other" in counts:
            raise InputError(f"{self.first['other'][1]} is not a number, a date or text")
        if not is_forced:
            kinds = set(counts)
            if kinds <= {"number", "boolean"}:
                return Column(self.name, "boolean" if kinds == {"boolean"} else "number", has_empty=has_empty)
            if kinds == {"date"}:
                return Column(self.name, "date", has_empty=has_empty)
            for kind in ("number", "date"):
                if 2 * counts.get(kind, 0) > total:
                    _, message = min(self.first[other] for other in kinds - {kind})
                    raise InputError(f"{message} is not a {kind}")
            limit = min(MOST_CATEGORIES, max(_FEW_CATEGORIES, total // 2))
            if len(self.texts) > limit:
                _, message = min(self.first[kind] for kind in kinds)
                raise InputError(
                    f"{message} is one of more than {limit} different texts in {total:,} cells: "
                    "leave the column out, or name it as the id or as a category"
                )
        return Column(self.name, "category", categories=tuple(sorted(self.texts)), has_empty=has_empty)


def write_features(x: NDArray[np.float32], chunk: Chunk, columns: Sequence[Column]) -> None:
    """Write the features of a chunk into the rows ``x``, which are 0; empty cells of numbers become NaN."""
    position = 0
    for column in columns:
        values, width = chunk.columns[column.name], len(column.features)
        if column.kind == "category":
            texts = [text_of(value) for value in values]
            number_of = {text: number for number, text in enumerate((*column.categories, ""))}
            rows = np.arange(chunk.num_rows)
            codes = np.array([number_of[text] for text in texts], dtype=np.int64)
            is_set = codes < width
            x[rows[is_set], position + codes[is_set]] = 1
        else:
            numbers = numbers_of(values)
            if numbers is None:
                numbers = np.array([parse(value)[1] for value in values], dtype=np.float64)
            with np.errstate(over="ignore"):
                x[:, position] = numbers
            _check_finite(x[:, position], chunk, column.name)
            if column.has_empty:
                x[:, position + 1] = np.isnan(numbers)
        position += width


def _check_finite(x: NDArray[np.float32], chunk: Chunk, name: str) -> None:
    if np.isinf(x).any():
        row = int(np.flatnonzero(np.isinf(x))[0])
        value = shown(chunk.columns[name][row])
        raise InputError(f"{chunk.at(row)}: column {name!r}: {value} is not a finite 32-bit number")


def _mean(values: NDArray[np.float32]) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean(dtype=np.float64)) if known.size else 0.0


def empty_note(counts: Mapping[str, int], train: NDArray[np.int64] | None) -> list[str]:
    """The note on the number of empty cells in each column, none if there are none."""
    part = "column" if train is None else "training nodes"
    listed = ", ".join(f"{name!r} ({count:,})" for name, count in counts.items())
    return (
        [f"empty cells, marked in a feature each, numbers filled with the mean of the {part}: {listed}"]
        if counts
        else []
    )
