"""Matching the features of a data set with those a run was trained on: by name if both have names, else by position."""

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mggcn.dataset import Dataset, as_features
from mggcn.errors import InputError, InputWarning


def match_features(dataset: Dataset, trained: Mapping[str, Any]) -> Dataset:
    """The data set with the columns of the one that a run was trained on, which ``trained`` in its record describes."""
    name, names, present = dataset.name, tuple(trained.get("feature_names") or ()), dataset.feature_names
    note, matched = "", dataset
    if names and present:
        if names != present:
            matched = _select(dataset, names)
            ignored = [feature for feature in present if feature not in set(names)]
            note = f"ignored features that the run was not trained on: {_list(ignored)}" if ignored else ""
    elif dataset.num_features != trained["num_features"]:
        raise InputError(
            f"{name}: {dataset.num_features} features, "
            f"but the run was trained on {trained['num_features']} ({trained['name']})"
        )
    elif names:
        note = f"no names of features, so columns are matched by position with {_list(names)}"
    if note:
        warnings.warn(f"{name}: {note}", InputWarning, stacklevel=4)  # at the call of Run.predict
    return matched


def _select(dataset: Dataset, names: tuple[str, ...]) -> Dataset:
    for owner, listed in ((dataset.name, dataset.feature_names), ("the run", names)):
        feature, count = Counter(listed).most_common(1)[0]
        if count > 1:
            raise InputError(f"{owner}: {count} features are called {feature!r}, so they cannot be matched by name")
    column_of = {feature: column for column, feature in enumerate(dataset.feature_names)}
    missing = [feature for feature in names if feature not in column_of]
    if missing:
        raise InputError(f"{dataset.name}: missing features that the run was trained on: {_list(missing)}")
    columns = [column_of[feature] for feature in names]
    is_dense = isinstance(dataset.x, np.ndarray)
    x = np.take(dataset.x, columns, axis=1) if is_dense else as_features(dataset.x[:, columns])
    return replace(dataset, x=x, feature_names=names, digest="", path=None, checked=True)


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
