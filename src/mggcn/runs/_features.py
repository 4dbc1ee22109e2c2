"""Matching the features of a data set with those a run was trained on.

Features from tables are matched by the columns they were made of, others by name if both sides have names, else by
position.
"""

from collections.abc import Container, Mapping, Sequence
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
    matched, notes = dataset, list[str]()
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
    ends = np.cumsum([len(column.features) for column in dataset.encoding]).tolist()
    present = {column.name: (column, end) for column, end in zip(dataset.encoding, ends, strict=True)}
    _check_present(dataset, [column.name for column in encoding], present)
    x = np.zeros((dataset.num_nodes, len(names)), np.float32)
    unknown, unmarked, start = [], [], 0
    for column in encoding:
        given, end = present[column.name]
        first, written = end - len(given.features), x[:, start : start + len(column.features)]
        start += len(column.features)
        is_empty = _feature(dataset, end - 1) == 1 if given.has_empty else np.zeros(dataset.num_nodes, bool)
        if column.has_empty:
            written[:, -1] = is_empty
        elif is_empty.any():
            unmarked.append(f"{is_empty.sum():,} in {column.name!r}")
        is_alike = given.kind == column.kind or {given.kind, column.kind} == {"number", "boolean"}  # 0 and 1
        if not is_alike and not is_empty.all():
            hint = "; import it as a category" if column.kind == "category" else ""
            raise InputError(
                f"{dataset.name}: column {column.name!r} holds {_plural(given)}, but the run was trained on "
                f"{_plural(column)}{hint}"
            )
        if column.kind != "category":
            written[:, 0] = np.where(is_empty, np.float32(column.mean), _feature(dataset, first))
            continue
        num_unknown, position = 0, {text: index for index, text in enumerate(column.categories)}
        for index, text in enumerate(given.categories, first):
            values = _feature(dataset, index)
            if text in position:
                written[:, position[text]] = values
            else:
                num_unknown += int(values.sum(dtype=np.float64))
        if num_unknown:
            unknown.append(f"{num_unknown:,} in {column.name!r}")
    notes = [f"categories that the run was not trained on, so it ignores them: {', '.join(unknown)}"] if unknown else []
    if unmarked:
        notes += [f"empty cells in columns that had none in training, so they are not marked: {', '.join(unmarked)}"]
    used = {column.name for column in encoding}
    notes += _ignored([name for name in present if name not in used])
    return replace(dataset, x=x, feature_names=names, encoding=encoding, checked=True), notes


def _feature(dataset: Dataset, index: int) -> NDArray[np.float32]:
    x = dataset.x
    values: NDArray[np.float32] = x[:, index] if isinstance(x, np.ndarray) else x[:, [index]].toarray()[:, 0]
    return values


def _plural(column: Column) -> str:
    return "categories" if column.kind == "category" else f"{column.kind}s"


def _select(dataset: Dataset, names: tuple[str, ...]) -> Dataset:
    column_of = {feature: column for column, feature in enumerate(dataset.feature_names)}
    _check_present(dataset, names, column_of)
    columns = [column_of[feature] for feature in names]
    is_dense = isinstance(dataset.x, np.ndarray)
    x = np.take(dataset.x, columns, axis=1) if is_dense else as_features(dataset.x[:, columns])
    return replace(dataset, x=x, feature_names=names, encoding=(), checked=True)


def _check_present(dataset: Dataset, names: Sequence[str], present: Container[str]) -> None:
    if missing := [name for name in names if name not in present]:
        raise InputError(f"{dataset.name}: missing features that the run was trained on: {_list(missing)}")


def _ignored(names: Sequence[str]) -> list[str]:
    return [f"ignored features that the run was not trained on: {_list(names)}"] if names else []


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
