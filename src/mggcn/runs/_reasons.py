"""Reasons in words: the features that speak most for the predicted class of a node.

A feature speaks for a class by as much as the log-odds of the class fall if the feature is replaced by its median, of
the node and of all its neighbours. That takes one scoring of the nodes for each feature, with any method; log-odds
distinguish nodes whose probabilities are all near 1.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from mggcn._io import memory
from mggcn.data import Dataset, Measure, plain
from mggcn.errors import InputError, InputWarning
from mggcn.runs._features import match_features
from mggcn.runs._labels import labels_in
from mggcn.runs._run import Run
from mggcn.training import calibrated, choose_device, log_odds, predict

MOST_FEATURES = 64
"""The most features for which reasons are searched."""
NUM_REASONS = 3
_MANY_VALUES = 1 << 26


def has_reasons(data: Dataset) -> bool:
    """Whether reasons are searched unless somebody says otherwise: every feature is one more preparation."""
    return can_reason(data) and data.num_nodes * data.num_features <= _MANY_VALUES


def can_reason(data: Dataset) -> bool:
    """Whether reasons are found in reasonable time, and have names."""
    return bool(data.feature_names) and data.num_features <= MOST_FEATURES


def reasons_of(
    runs: Sequence[Run],
    data: Dataset,
    nodes: NDArray[np.int64],
    labels: NDArray[np.int64],
    *,
    draws: int | None = None,
    device: str | torch.device = "auto",
) -> list[list[str]]:
    """The strongest reasons for a class of each node, at most three, the strongest first.

    Args:
        runs: whose mean effects count.
        data: the graph.
        nodes: [n] its nodes.
        labels: [n] the class to give reasons for, as an index of the runs' classes.
        draws: average over so many draws of the picks; as in the evaluation if None.
        device: ``auto``, ``cpu``, ``cuda`` or a device.
    """
    if not nodes.size:
        return []
    if not can_reason(data):
        problem = f"{data.num_features:,} are more than {MOST_FEATURES}" if data.feature_names else "they have no names"
        raise InputError(f"{data.name}: no reasons from its features: {problem}")
    with warnings.catch_warnings(action="ignore", category=InputWarning):  # the prediction has given them
        matched = match_features(data, runs[0].record.dataset)
        effects = np.mean([_effects(run, matched, nodes, labels, draws, choose_device(device)) for run in runs], axis=0)
    words = _Words(matched, labels_in(data, runs[0].classes, np.arange(data.num_nodes)), runs[0].classes)
    found = []
    for node, label, of_node in zip(nodes.tolist(), labels.tolist(), effects, strict=True):
        strongest = np.argsort(-of_node, kind="stable")[:NUM_REASONS]
        found.append([words.say(node, label, column) for column in strongest.tolist() if of_node[column] > 0])
    return found


def _effects(
    run: Run,
    data: Dataset,
    nodes: NDArray[np.int64],
    labels: NDArray[np.int64],
    draws: int | None,
    device: torch.device,
) -> NDArray[np.float64]:
    """[n, features] how much the log-odds of the classes fall without each feature."""
    memory.require(3 * 4 * data.num_nodes * data.num_features, "reasons: changed features of all nodes")
    x = _dense(data)
    medians = np.median(x, axis=0)
    whole = _log_odds(run, data, nodes, labels, draws, device)
    effects = np.zeros((nodes.size, x.shape[1]))
    for column in range(x.shape[1]):
        changed = x.copy()
        changed[:, column] = medians[column]
        without = replace(data, x=changed, checked=True)
        effects[:, column] = whole - _log_odds(run, without, nodes, labels, draws, device)
    return effects


def _log_odds(
    run: Run,
    data: Dataset,
    nodes: NDArray[np.int64],
    labels: NDArray[np.int64],
    draws: int | None,
    device: torch.device,
) -> NDArray[np.float64]:
    view, compute = run.view(data, device)
    scores = predict(run.model, view, nodes, run.key, compute, draws or run.plan.training.draws)
    return log_odds(calibrated(scores, run.record.temperature), torch.from_numpy(labels)).cpu().numpy()


def _dense(data: Dataset) -> NDArray[np.float32]:
    return data.x if isinstance(data.x, np.ndarray) else np.asarray(data.x.toarray(), np.float32)


class _Words:
    """Says features of nodes in words.

    Args:
        data: the graph.
        known: [num_nodes] known labels as indices of ``classes``, else -1.
        classes: the names of the classes.
    """

    def __init__(self, data: Dataset, known: NDArray[np.int64], classes: Sequence[str]) -> None:
        self._data, self._known, self._classes, self._x = data, known, classes, _dense(data)
        self._counts = data.edge_attributes.get("count")
        columns = [(column, name) for column in data.encoding for name in column.features]
        self._flags = {name for column, name in columns if name != column.name or column.kind == "boolean"}

    def say(self, node: int, label: int, column: int) -> str:
        """A feature of a node; one that counts neighbours also says how many are known to be of the class."""
        name, stored = self._data.feature_names[column], float(self._x[node, column])
        if name in self._flags:
            return name if stored else f"not {name}"
        measure = self._data.measures.get(name) or plain(name)
        text = measure.text(stored)
        members = self._members(node, label, measure) if measure.counts else 0
        return f"{text}, {members:,} of them known {self._classes[label]}" if members else text

    def _members(self, node: int, label: int, measure: Measure) -> int:
        """The number of neighbours in the direction of a measure that are known to be of a class."""
        graph = self._data.graph
        row = graph.row(node)
        positions = np.flatnonzero(self._known[row] == label)
        if measure.counts == "both" or self._counts is None:
            return positions.size
        if measure.counts == "out":
            return int((self._counts[graph.indptr[node] + positions] > 0).sum())
        return sum(self._is_paid(int(sender), node) for sender in row[positions])

    def _is_paid(self, sender: int, receiver: int) -> bool:
        assert self._counts is not None  # noqa: S101  (checked by the caller)
        graph = self._data.graph
        position = graph.indptr[sender] + np.searchsorted(graph.row(sender), receiver)
        return bool(self._counts[position] > 0)
