"""From exact integers to floats, here only: each result is the float nearest to the exact quotient."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ETHER = 10**18
"""In wei."""


def quotient(numerator: Any, denominator: "NDArray[np.int64] | int" = 1, unit: int = 1) -> Floats:
    """``numerator / (denominator · unit)`` rounded once.

    Python divides integers of any size with correct rounding; a float64 of wei, or a product of floats, would not.

    Args:
        numerator: [n] a ``pyarrow`` array of int64 or decimal128 with scale 0, without nulls.
        denominator: [n] or one number for all, positive.
        unit: what one counts in, as in 10**18 wei.
    """
    parts = integers(numerator)
    if isinstance(denominator, int):
        by = denominator * unit
        return np.fromiter((part / by for part in parts), np.float64, len(parts))
    pairs = zip(parts, denominator.tolist(), strict=True)
    return np.fromiter((part / (one * unit) for part, one in pairs), np.float64, len(parts))


def integers(column: Any) -> list[int]:
    """The values of a ``pyarrow`` array of integers or of decimals with scale 0."""
    import pyarrow

    if column.null_count:
        raise ValueError("nulls among exact numbers")
    if not pyarrow.types.is_decimal128(column.type):
        whole: list[int] = column.to_pylist()
        return whole
    words = np.frombuffer(column.buffers()[1], np.dtype([("low", "<u8"), ("high", "<i8")]))
    words = words[column.offset : column.offset + len(column)]
    return [(high << 64) + low for high, low in zip(words["high"].tolist(), words["low"].tolist(), strict=True)]
