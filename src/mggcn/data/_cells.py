"""Cells of a table: their text, their number, and what they hold."""

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
