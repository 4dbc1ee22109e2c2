"""Labels and parts of nodes, from columns of tables and from arrays: what is no label, and what are no classes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.data._checks import MAX_CLASSES
from mggcn.data._columns import Chunk, shown, text_of
from mggcn.data._split import NO_SPLIT, PARTS, UNLABELLED
from mggcn.errors import InputError, prefix_errors

NO_LABEL = frozenset(["NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None", "NaT"])
"""Texts that mean an empty cell, as in pandas' files."""

_FEW_NUMBERS = 10  # with a fraction, which may be classes
_FEW_CLASSES = 100  # which may have one node each


class Codes:
    """A column of few different texts as numbers, read from one chunk of a table after the other.

    Attributes:
        column: its name; a table without it has empty cells.
        names: the text of each number; the first is empty.

    Args:
        column: its name.
        known: the texts that cells may have; any but several labels if there are none.
    """

    def __init__(self, column: str, known: Sequence[str] = ()) -> None:
        self.column, self._known = column, known
        self.names = ["", *known]
        self._numbers = {name: number for number, name in enumerate(self.names)}
        self._codes = [np.empty(0, np.int32)]

    def add(self, chunk: Chunk) -> None:
        """Read the next rows."""
        values: Any = chunk.columns.get(self.column)
        if values is None:
            self._codes.append(np.zeros(chunk.num_rows, np.int32))
        elif isinstance(values, np.ndarray) and values.dtype.kind in "iufb":
            distinct, rows, inverse = np.unique(values, return_index=True, return_inverse=True)
            self._codes.append(self._numbers_of(distinct.tolist(), rows.tolist(), chunk)[inverse])
        else:
            self._codes.append(self._numbers_of(values, range(chunk.num_rows), chunk))

    def joined(self) -> NDArray[np.int32]:
        """The numbers of all rows."""
        self._codes = [np.concatenate(self._codes)]
        return self._codes[0]

    def _numbers_of(self, values: Sequence[Any], rows: Sequence[int], chunk: Chunk) -> NDArray[np.int32]:
        texts = [text_of(value) for value in values]
        for value, text, row in zip(values, texts, rows, strict=True):
            if text not in self._numbers:
                is_list = isinstance(value, list | tuple | set | frozenset | dict | np.ndarray)
                problem = ""
                if self._known:
                    problem = f"{text!r} is not one of {', '.join(self._known)} or empty"
                elif is_list or (text.startswith("[") and text.endswith("]") and "," in text):
                    problem = f"{shown(value)} looks like several labels of one node, which are not supported"
                if problem:
                    raise InputError(f"{chunk.at(row)}: column {self.column!r}: {problem}")
                self._numbers[text] = len(self.names)
                self.names.append(text)
        return np.array([self._numbers[text] for text in texts], np.int32)


def read_labels(labels: Codes) -> tuple[NDArray[np.int64], tuple[str, ...], list[str]]:
    """The class number of each node, -1 without a label, the names of the classes, and notes on unusual labels."""
    codes = labels.joined()
    counts = dict(zip(labels.names, np.bincount(codes, minlength=len(labels.names)).tolist(), strict=True))
    empty = {text: counts.pop(text) for text in labels.names if not text or text in NO_LABEL}
    classes = tuple(sorted(counts, key=int) if all(map(is_integer, counts)) else sorted(counts))
    with prefix_errors(f"column {labels.column!r}"):
        _check_classes(classes, sum(counts.values()))
    number_of = {name: number for number, name in enumerate(classes)}
    y = np.array([number_of.get(name, UNLABELLED) for name in labels.names], np.int64)[codes]
    notes = []
    if len(classes) > 2 and str(UNLABELLED) in classes:  # it means "no label" in PyG
        notes = ["the label -1 is a class; leave it empty where there is no label"]
    del empty[""]
    if empty:
        listed = ", ".join(f"{text!r} ({count:,})" for text, count in empty.items())
        notes.append(f"read as no label: {listed}; if it is a class, give it another name")
    return y, classes, notes


def read_parts(parts: Codes, y: NDArray[np.int64]) -> tuple[Sequence[NDArray[np.int64] | None], tuple[int, str] | None]:
    """The nodes of train, val and test, and the first node in one of them that has no label, with its part."""
    codes = parts.joined()
    if not codes.any():
        return NO_SPLIT, None
    unlabelled = np.flatnonzero((codes != 0) & (y == UNLABELLED))
    train, val, test = (np.flatnonzero(codes == number) for number in range(1, 1 + len(PARTS)))
    bad = (int(unlabelled[0]), parts.names[codes[unlabelled[0]]]) if unlabelled.size else None
    return [train, val if val.size else None, test], bad


def class_numbers(y: NDArray[Any] | None, num_nodes: int) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The class numbers in an array, [num_nodes] or [num_nodes, 1], and the names ``class 0``, ``class 1``, … of them.

    A number is -1 for NaN and if there is no array; numbers below that are not checked.
    """
    if y is None:
        return np.full(num_nodes, UNLABELLED, dtype=np.int64), ()
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.shape != (num_nodes,):
        hint = "; several labels per node are not supported" if y.ndim == 2 and y.shape[0] == num_nodes else ""
        raise InputError(f"y: must have shape [{num_nodes}], one class per node, not {list(y.shape)}{hint}")
    if y.dtype.kind not in "iufb":
        raise InputError(f"y: must hold integers, not {y.dtype}")
    if y.dtype.kind == "f":
        y = np.where(np.isnan(y), y.dtype.type(UNLABELLED), y)
    with np.errstate(invalid="ignore"):
        labels = y.astype(np.int64)
    bad = np.flatnonzero(labels != y)
    if bad.size:
        raise InputError(
            f"y of node {bad[0]} is {y[bad[0]]}, not a whole number: it looks like a regression target, not a class"
        )
    known = labels[labels != UNLABELLED]
    with prefix_errors("y"):
        _check_classes([*map(str, np.unique(known).tolist())], known.size)
    if known.max(initial=0) >= MAX_CLASSES:
        node = int(labels.argmax())
        raise InputError(f"y of node {node} is {labels[node]}, and a data set has at most {MAX_CLASSES:,} classes")
    return labels, tuple(f"class {number}" for number in range(int(known.max(initial=UNLABELLED)) + 1))


def is_integer(text: str) -> bool:
    """Whether the text is an int64 in its plain form, so that nothing is lost by keeping the number."""
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) < 20
    return plain and str(int(text)) == text and abs(int(text)) < 2**63


def _check_classes(names: Sequence[str], num_labelled: int) -> None:
    """Raise InputError if the different labels of ``num_labelled`` nodes do not look like classes."""
    is_many = 2 * len(names) > num_labelled
    try:
        fractions = [name for name in names if not float(name).is_integer()]
    except ValueError:  # a name is not a number
        fractions = []
    if fractions and (len(names) > _FEW_NUMBERS or is_many):
        raise InputError(
            f"{len(names):,} different numbers such as {fractions[0]} in {num_labelled:,} labelled nodes look like a "
            "regression target, not like classes"
        )
    if len(names) > _FEW_CLASSES and is_many:
        raise InputError(
            f"{len(names):,} different labels such as {names[0][:40]!r} in {num_labelled:,} labelled nodes look like "
            "ids, texts or a regression target, not like classes"
        )
