"""What the explorer looks up: nodes by their ids, medians of features by class, and payments between neighbours."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.data import UNLABELLED, Dataset, Features, find_nodes
from mggcn.errors import InputError

_MAX_NODES = 10_000  # per class; of more training nodes an evenly spaced selection is used
PAYMENT = ("count", "value", "first", "last")
"""The edge attributes of transactions: their number, ether, first and last time, per direction."""


class IdIndex:
    """The ids of a data set in lower case; ids that are node numbers need no table."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        if dataset.node_ids is not None:
            ids = np.asarray(dataset.node_ids)
            self._lowered = np.char.lower(ids if ids.dtype.kind in "SU" else ids.astype(np.str_))

    def search(self, text: str, limit: int) -> list[int]:
        """The numbers of the first nodes, at most ``limit``, whose ids begin with ``text``; of a number, its node."""
        if self._dataset.node_ids is None:
            return [int(node) for node in find_nodes(self._dataset, [text])[0]]
        nodes: list[int] = np.flatnonzero(np.char.startswith(self._lowered, self._in_lower(text)))[:limit].tolist()
        return nodes

    def find(self, text: str) -> int:
        """The node with this id, an exact match first, else one that differs only in case."""
        wanted = text.strip()
        if self._dataset.node_ids is None:
            alike: list[int] = find_nodes(self._dataset, [wanted])[0].tolist()
        else:
            alike = np.flatnonzero(self._lowered == self._in_lower(wanted)).tolist()
        if not alike:
            raise InputError(f"{self._dataset.name}: no node has the id {wanted!r}")
        names = self._dataset.ids_of(alike).astype(str).tolist()
        return alike[names.index(wanted)] if wanted in names else alike[0]

    def _in_lower(self, text: str) -> Any:
        """Text, or bytes, to compare with the ids."""
        return text.lower().encode() if self._lowered.dtype.kind == "S" else text.lower()


def medians_of(dataset: Dataset) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The medians of each class, and the standard deviations over the training nodes of all classes.

    They are of all labelled nodes if there is no split. A class without such nodes has medians of 0, and a constant
    feature a deviation of 1.

    Returns:
        [classes, features] and [features]
    """
    from sklearn.preprocessing import StandardScaler

    nodes = dataset.split.train if dataset.split else np.flatnonzero(dataset.y != UNLABELLED)
    by_class = [spaced(nodes[dataset.y[nodes] == label], _MAX_NODES) for label in range(dataset.num_classes)]
    medians = np.zeros((dataset.num_classes, dataset.num_features), np.float32)
    for label, members in enumerate(by_class):
        if members.size:
            medians[label] = _median(dataset.x[members])
    scaler = StandardScaler(with_mean=False).fit(dataset.x[np.concatenate(by_class)])
    return medians, np.asarray(scaler.scale_, np.float32)


def spaced(nodes: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """At most ``most`` of the nodes, evenly spaced."""
    return nodes if nodes.size <= most else nodes[np.linspace(0, nodes.size - 1, most).astype(np.int64)]


def _median(x: Features) -> NDArray[np.float32]:
    from sklearn.utils.sparsefuncs import csc_median_axis_0

    return np.asarray(np.median(x, axis=0) if isinstance(x, np.ndarray) else csc_median_axis_0(x.tocsc()), np.float32)


@dataclass(frozen=True, eq=False)
class Payments:
    """The transactions of a data set's edges, which has them in both directions."""

    dataset: Dataset

    def largest_first(self, node: int) -> NDArray[np.int64]:
        """The neighbours of a node, those with the largest sum of both directions first."""
        row = self.dataset.graph.row(node).astype(np.int64)
        values = self.dataset.edge_attributes["value"]
        sums = [float(values[self._entry(node, other)] + values[self._entry(other, node)]) for other in row.tolist()]
        return row[np.argsort(-np.array(sums), kind="stable")]

    def between(self, node: int, other: int) -> dict[str, Any]:
        """``sent`` by a node to another and ``received`` from it; None for a direction without transactions."""
        return {"sent": self._described(node, other), "received": self._described(other, node)}

    def _described(self, sender: int, receiver: int) -> dict[str, Any] | None:
        entry = self._entry(sender, receiver)
        count, value, *times = (self.dataset.edge_attributes[name][entry] for name in PAYMENT)
        if not count:
            return None
        first, last = (f"{datetime.fromtimestamp(int(time), UTC):%Y-%m-%d}" for time in times)
        return {"count": int(count), "value": float(value), "first": first, "last": last}

    def _entry(self, node: int, other: int) -> int:
        """The position of a neighbour in the arrays of edges."""
        graph = self.dataset.graph
        return int(graph.indptr[node] + np.searchsorted(graph.row(node), other))
