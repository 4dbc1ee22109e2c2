"""Weights and types of edges in the columns of a table, read from one chunk of rows after the other."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.data._columns import KINDS, Chunk, parsed, shown, text_of
from mggcn.data._labels import is_integer
from mggcn.data._table_files import InputTable
from mggcn.errors import InputError
from mggcn.graph import MOST_TYPES

WEIGHT, NO_WEIGHTS = "weight", "none"
WITHOUT_WEIGHTS = f"weight_column='{NO_WEIGHTS}'"


class EdgeColumns:
    """The columns of a table that say what the edges are.

    Args:
        table: one row per edge.
        ends: the columns of source and target.
        weight: the column of weights; ``weight``, the default, may be missing, and ``none`` is no column.
        kind: the column of types; None if there is none.
        without: what reads no weights, for errors.

    Attributes:
        weight: the column of weights, None without weights.
        kind: the column of types, None without types.
    """

    def __init__(
        self, table: InputTable, ends: Sequence[str], weight: str, kind: str | None, without: str = WITHOUT_WEIGHTS
    ) -> None:
        is_assumed = weight == WEIGHT and (weight not in table.names or weight in (*ends, kind))
        self.weight = None if is_assumed or weight == NO_WEIGHTS else weight
        self.kind, self._without, self._are_ones = kind, without, True
        self._texts: dict[str, int] = {}  # the number of each type in the order in which they appear
        uses = dict(zip(("source", "target", "weight", "type"), (*ends, self.weight, kind), strict=True))
        for use in ("weight", "type"):
            column = uses.pop(use)
            if column is None:
                continue
            table.require(column)
            for other, taken in uses.items():
                if column == taken:
                    raise InputError(f"{table.label}: column {column!r} cannot be both the {other} and the {use}")

    @property
    def names(self) -> list[str]:
        """The columns to read."""
        return [column for column in (self.weight, self.kind) if column is not None]

    def weights(self, chunk: Chunk) -> NDArray[np.float32] | None:
        """The weights in some rows, None without weights; InputError for a cell that is no weight."""
        if self.weight is None:
            return None
        values = chunk.columns[self.weight]
        kinds, numbers = parsed(values)
        with np.errstate(over="ignore"):
            weights = numbers.astype(np.float32)
        is_number = kinds == KINDS.index("number")
        is_lost = (weights == 0) & (numbers > 0)
        bad = np.flatnonzero(~(is_number & np.isfinite(weights) & (weights >= 0)) | is_lost)
        if bad.size:
            row = int(bad[0])
            value = shown(values[row])
            if kinds[row] == KINDS.index("empty"):
                problem = " is empty"
            elif not is_number[row]:
                problem = f": {value} is not a number"
            elif numbers[row] < 0:
                problem = f": {value} is less than 0"
            else:
                problem = f": {value} is not a {'positive' if is_lost[row] else 'finite'} 32-bit number"
            raise InputError(f"{chunk.at(row)}: column {self.weight!r}{problem}; {self._without} reads no weights")
        self._are_ones = self._are_ones and bool((weights == 1).all())
        return weights

    @property
    def is_weighted(self) -> bool:
        """Whether there are weights, and not all that were read are 1."""
        return self.weight is not None and not self._are_ones

    def codes(self, chunk: Chunk) -> NDArray[np.uint8] | None:
        """The types in some rows, numbered as they appear, None without types; InputError for an empty cell."""
        if self.kind is None:
            return None
        values: Any = chunk.columns[self.kind]
        is_plain = isinstance(values, np.ndarray) and values.dtype.kind in "iufb"
        texts = [text_of(value) for value in (values.tolist() if is_plain else values)]
        for text in dict.fromkeys(texts):
            if text and (text in self._texts or len(self._texts) < MOST_TYPES):
                self._texts.setdefault(text, len(self._texts))
                continue
            problem = f": {shown(text)} is one of more than {MOST_TYPES} types of edges" if text else " is empty"
            raise InputError(f"{chunk.at(texts.index(text))}: column {self.kind!r}{problem}")
        return np.array([self._texts[text] for text in texts], np.uint8)

    @property
    def types(self) -> tuple[str, ...]:
        """The names of all types that appeared, sorted; as numbers if all are."""
        return tuple(sorted(self._texts, key=int) if all(map(is_integer, self._texts)) else sorted(self._texts))

    @property
    def numbers(self) -> NDArray[np.uint8]:
        """The number of each type among :attr:`types`, in the order in which they appeared."""
        numbers = {text: number for number, text in enumerate(self.types)}
        return np.array([numbers[text] for text in self._texts], np.uint8)
