"""Matching the features of a data set with those a run was trained on.

Features from tables are matched by the columns they were made of, others by name if both sides have names, else by
position.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from mggcn.data import Column, Dataset, as_features
from mggcn.errors import InputError, warn_caller


def match_features(dataset: Dataset, trained: Mapping[str, Any]) -> Dataset:
    """The data set with the columns of the one that a run was trained on, which ``trained`` in its record describes."""
    name, names, present = dataset.name, tuple(trained.get("feature_names") or ()), dataset.feature_names
    encoding = tuple(msgspec.convert(trained.get("encoding") or [], list[Column]))
    notes: list[str] = []
    matched = dataset
    if encoding and dataset.encoding:
        if encoding != dataset.encoding:
            matched, notes = _encode(dataset, encoding, names)
    elif names and present:
        if names != present:
            matched = _select(dataset, names)
            notes = _ignored([feature for feature in present if feature not in set(names)])
    elif dataset.num_features != trained["num_features"]:
        raise InputError(
            f"{name}: {dataset.num_features} features, "
            f"but the run was trained on {trained['num_features']} ({trained['name']})"
        )
    elif names:
        notes = [f"no names of features, so columns are matched by position with {_list(names)}"]
    if notes:
        warn_caller(f"{name}: {'; '.join(notes)}")
    return matched


def _encode(dataset: Dataset, encoding: tuple[Column, ...], names: tuple[str, ...]) -> tuple[Dataset, list[str]]:
    """The features as the run encodes them, and notes on what it cannot encode."""
    table = _Table(dataset)
    missing = [column.name for column in encoding if column.name not in table.columns]
    if missing:
        raise InputError(f"{dataset.name}: missing features that the run was trained on: {_list(missing)}")
    x = np.zeros((dataset.num_nodes, len(names)), np.float32)
    unknown, unmarked, start = [], [], 0
    for column in encoding:
        num_unknown, num_empty = table.write(column, x[:, start : start + len(column.features)])
        if num_unknown:
            unknown.append(f"{num_unknown:,} in {column.name!r}")
        if num_empty and not column.has_empty:
            unmarked.append(f"{num_empty:,} in {column.name!r}")
        start += len(column.features)
    notes = [f"categories that the run was not trained on, so it ignores them: {', '.join(unknown)}"] if unknown else []
    if unmarked:
        notes += [f"empty cells in columns that had none in training, so they are not marked: {', '.join(unmarked)}"]
    used = {column.name for column in encoding}
    notes += _ignored([column for column in table.columns if column not in used])
    return replace(dataset, x=x, feature_names=names, encoding=encoding, checked=True), notes


class _Table:
    """The features of a data set by the column of the table they were made of."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset, self.columns, start = dataset, {}, 0
        for column in dataset.encoding:
            self.columns[column.name] = (column, start)
            start += len(column.features)

    def write(self, column: Column, x: NDArray[np.float32]) -> tuple[int, int]:
        """Write a column into ``x`` as the run encodes it; the numbers of unknown categories and of empty cells."""
        present, start = self.columns[column.name]
        is_empty = np.zeros(x.shape[0], bool)
        if present.has_empty:
            is_empty = self._feature(start + len(present.features) - 1) == 1
        if column.has_empty:
            x[:, -1] = is_empty
        num_empty = int(is_empty.sum())
        if num_empty < x.shape[0] and not _is_alike(present, column):
            hint = "; import it as a category" if column.kind == "category" else ""
            raise InputError(
                f"{self._dataset.name}: column {column.name!r} holds {_plural(present)}, but the run was trained on "
                f"{_plural(column)}{hint}"
            )
        if column.kind != "category":
            x[:, 0] = np.where(is_empty, np.float32(column.mean), self._feature(start))
            return 0, num_empty
        number_of = {text: number for number, text in enumerate(column.categories)}
        num_unknown = 0
        for offset, text in enumerate(present.categories):
            values = self._feature(start + offset)
            if text in number_of:
                x[:, number_of[text]] = values
            else:
                num_unknown += int(values.sum(dtype=np.float64))
        return num_unknown, num_empty

    def _feature(self, index: int) -> NDArray[np.float32]:
        x = self._dataset.x
        values: NDArray[np.float32] = x[:, index] if isinstance(x, np.ndarray) else x[:, [index]].toarray()[:, 0]
        return values


def _is_alike(one: Column, other: Column) -> bool:
    """Whether a value has the same meaning in both columns; booleans are the numbers 0 and 1."""
    return one.kind == other.kind or {one.kind, other.kind} == {"number", "boolean"}


def _plural(column: Column) -> str:
    return "categories" if column.kind == "category" else f"{column.kind}s"


def _select(dataset: Dataset, names: tuple[str, ...]) -> Dataset:
    column_of = {feature: column for column, feature in enumerate(dataset.feature_names)}
    missing = [feature for feature in names if feature not in column_of]
    if missing:
        raise InputError(f"{dataset.name}: missing features that the run was trained on: {_list(missing)}")
    columns = [column_of[feature] for feature in names]
    is_dense = isinstance(dataset.x, np.ndarray)
    x = np.take(dataset.x, columns, axis=1) if is_dense else as_features(dataset.x[:, columns])
    return replace(dataset, x=x, feature_names=names, encoding=(), checked=True)


def _ignored(names: Sequence[str]) -> list[str]:
    return [f"ignored features that the run was not trained on: {_list(names)}"] if names else []


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
