"""Reasons in words: the features that speak most for the predicted class of a node.

A feature speaks for a class by what it contributes to the log-odds of the class, of the node and of all others whose
features the model reads; see :mod:`mggcn.runs._attribution`. Log-odds distinguish nodes whose probabilities are all
near 1.
"""

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mggcn.data import Dataset, Measure, plain
from mggcn.errors import InputError, InputWarning
from mggcn.runs._attribution import check_attributable, contributions
from mggcn.runs._features import match_features
from mggcn.runs._nodes import labels_in
from mggcn.runs._predictions import NUM_REASONS
from mggcn.runs._scoring import Scorer


def check_reasons(data: Dataset) -> None:
    """Raise InputError for a graph whose features have no names."""
    if not data.feature_names:
        raise InputError(f"{data.name}: no reasons from its features: they have no names")


def reasons_of(scorers: Sequence[Scorer], nodes: NDArray[np.int64], labels: NDArray[np.int64]) -> list[list[str]]:
    """The strongest reasons for a class of each node, at most three, the strongest first.

    Args:
        scorers: runs prepared for the same graph, whose mean contributions count.
        nodes: [n] nodes of the graph.
        labels: [n] the class to give reasons for, as an index of the runs' classes.
    """
    for scorer in scorers:
        check_attributable(scorer)
    if not nodes.size:
        return []
    run, data = scorers[0].run, scorers[0].dataset
    check_reasons(data)
    with warnings.catch_warnings(action="ignore", category=InputWarning):  # the prediction has given them
        matched = match_features(data, run.record.dataset)
    effects = np.mean([contributions(scorer, nodes, labels) for scorer in scorers], axis=0)
    words = _Words(matched, labels_in(data, run.classes, np.arange(data.num_nodes)), run.classes)
    found = []
    for node, label, of_node in zip(nodes.tolist(), labels.tolist(), effects, strict=True):
        strongest = np.argsort(-of_node, kind="stable")[:NUM_REASONS]
        found.append([words.say(node, label, column) for column in strongest.tolist() if of_node[column] > 0])
    return found


class _Words:
    """Says features of nodes in words.

    Args:
        data: the graph.
        known: [num_nodes] known labels as indices of ``classes``, else -1.
        classes: the names of the classes.
    """

    def __init__(self, data: Dataset, known: NDArray[np.int64], classes: Sequence[str]) -> None:
        self._data, self._known, self._classes = data, known, classes
        self._counts = data.edge_attributes.get("count")
        columns = [(column, name) for column in data.encoding for name in column.features]
        self._flags = {name for column, name in columns if name != column.name or column.kind == "boolean"}

    def say(self, node: int, label: int, column: int) -> str:
        """A feature of a node; one that counts neighbours also says how many are known to be of the class."""
        name, stored = self._data.feature_names[column], float(self._data.x[[node], [column]].item())
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
