"""What the explorer looks up: nodes by their ids, medians of features by class, and payments between neighbours."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mggcn.data import UNLABELLED, Dataset, Features
from mggcn.errors import InputError

_LAST = {"S": b"\x7f", "U": "\U0010ffff"}  # the last letter in sorting order
_MAX_ALIKE = 64
_MAX_NODES = 10_000  # per class; of more training nodes an evenly spaced selection is used
NAMES = ("count", "value", "first", "last")
"""Number of transactions, ether, first and last time, per direction."""


class IdIndex:
    """The ids of a data set in lower case, sorted once; ids that are node numbers need no table."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        if dataset.node_ids is not None:
            ids = np.asarray(dataset.node_ids)
            lowered = np.char.lower(ids if ids.dtype.kind in _LAST else ids.astype(np.str_))
            self._nodes = np.argsort(lowered, kind="stable")
            self._names: NDArray[np.generic] = lowered[self._nodes]

    def search(self, text: str, limit: int) -> list[int]:
        """The numbers of at most ``limit`` nodes whose ids begin with ``text``, in the order of their ids."""
        return self._numbers(text, limit) if self._dataset.node_ids is None else self._sorted(text, limit)

    def find(self, text: str) -> int:
        """The node with this id, an exact match first, else one that differs only in case."""
        wanted = text.strip()
        nodes = self.search(wanted, _MAX_ALIKE) if wanted else []
        names = [str(name) for name in self._dataset.ids_of(nodes).tolist()]
        exact = [node for node, name in zip(nodes, names, strict=True) if name == wanted]
        alike = [node for node, name in zip(nodes, names, strict=True) if name.lower() == wanted.lower()]
        if not alike:
            raise InputError(f"{self._dataset.name}: no node has the id {wanted!r}")
        return (exact or alike)[0]

    def _numbers(self, text: str, limit: int) -> list[int]:
        """Node numbers by their first digits: 12, then 120 to 129, then 1200 to 1299 and so on."""
        count = self._dataset.num_nodes
        if not (text.isascii() and text.isdigit()) or (text.startswith("0") and text != "0"):
            return []
        if len(text) > len(str(count)):  # int() refuses thousands of digits
            return []
        first, width = int(text), 1
        nodes: list[int] = []
        while first * width < count and len(nodes) < limit:
            nodes += range(first * width, min((first + 1) * width, count))[:limit]
            if first == 0:
                break
            width *= 10
        return nodes[:limit]

    def _sorted(self, text: str, limit: int) -> list[int]:
        dtype = self._names.dtype
        width = dtype.itemsize // np.dtype(f"{dtype.kind}1").itemsize  # letters of the longest id
        lowered = text.lower()
        if len(lowered) > width or (dtype.kind == "S" and not lowered.isascii()):
            return []
        begin = lowered.encode() if dtype.kind == "S" else lowered
        end = begin + _LAST[dtype.kind] * (width - len(begin))  # type: ignore[operator]
        # Bounds have the dtype of the names; otherwise numpy would convert all names.
        start = np.searchsorted(self._names, np.array(begin, dtype))
        stop = np.searchsorted(self._names, np.array(end, dtype), "right")
        return [int(node) for node in self._nodes[start : min(stop, start + limit)]]


@dataclass(frozen=True, eq=False)
class Medians:
    """The medians of each class, and the standard deviations over the training nodes of all classes."""

    medians: NDArray[np.float32]  # [classes, features], 0 for a class without training nodes
    deviation: NDArray[np.float32]  # [features], 1 for a constant feature

    @classmethod
    def of(cls, dataset: Dataset) -> "Medians":
        """Compute them from the training nodes, or from all labelled nodes if there is no split."""
        nodes = dataset.split.train if dataset.split else np.flatnonzero(dataset.y != UNLABELLED)
        by_class = [_thinned(nodes[dataset.y[nodes] == label]) for label in range(dataset.num_classes)]
        medians = np.zeros((dataset.num_classes, dataset.num_features), np.float32)
        for label, members in enumerate(by_class):
            if members.size:
                medians[label] = _median(dataset.x[members])
        return cls(medians, _deviation(dataset.x[np.concatenate(by_class)]))


def features_of(dataset: Dataset, node: int) -> NDArray[np.float32]:
    """[features] of one node, dense."""
    row = dataset.x[[node]]
    return np.asarray(row if isinstance(row, np.ndarray) else row.toarray(), np.float32).reshape(-1)


def _thinned(nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    return nodes if nodes.size <= _MAX_NODES else nodes[np.linspace(0, nodes.size - 1, _MAX_NODES).astype(np.int64)]


def _median(x: Features) -> NDArray[np.float32]:
    if isinstance(x, np.ndarray):
        return np.asarray(np.median(x, axis=0), np.float32)
    medians = np.zeros(x.shape[1], np.float32)
    frequent = np.flatnonzero(2 * np.bincount(x.indices, minlength=x.shape[1]) >= x.shape[0])  # others have median 0
    medians[frequent] = np.median(csr_array(x[:, frequent]).toarray(), axis=0)
    return medians


def _deviation(x: Features) -> NDArray[np.float32]:
    if isinstance(x, np.ndarray):
        deviation = x.std(axis=0, dtype=np.float64)
    else:
        x = x.astype(np.float64)
        squares = np.asarray(x.power(2).mean(axis=0)).ravel()
        deviation = np.sqrt(np.maximum(squares - np.asarray(x.mean(axis=0)).ravel() ** 2, 0))
    return np.asarray(np.where(deviation > 0, deviation, 1), np.float32)


@dataclass(frozen=True, eq=False)
class Payments:
    """The transactions of a data set's edges."""

    dataset: Dataset

    @classmethod
    def of(cls, dataset: Dataset) -> "Payments | None":
        """None if the edges have no such attributes."""
        is_paid = set(NAMES) <= set(dataset.edge_attributes) and dataset.graph.direction == "both"
        return cls(dataset) if is_paid else None

    def largest_first(self, node: int) -> NDArray[np.int64]:
        """The neighbours of a node, those with the largest sum of both directions first."""
        graph, values = self.dataset.graph, self.dataset.edge_attributes["value"]
        row = graph.row(node).astype(np.int64)
        sums = [float(values[self._entry(node, other)] + values[self._entry(other, node)]) for other in row.tolist()]
        return row[np.argsort(-np.array(sums), kind="stable")]

    def between(self, node: int, other: int) -> dict[str, Any]:
        """``sent`` by a node to another and ``received`` from it; None for a direction without transactions."""
        return {"sent": self._described(node, other), "received": self._described(other, node)}

    def _described(self, sender: int, receiver: int) -> dict[str, Any] | None:
        entry, attributes = self._entry(sender, receiver), self.dataset.edge_attributes
        if not attributes["count"][entry]:
            return None
        return {
            "count": int(attributes["count"][entry]),
            "value": float(attributes["value"][entry]),
            "first": _date(int(attributes["first"][entry])),
            "last": _date(int(attributes["last"][entry])),
        }

    def _entry(self, node: int, other: int) -> int:
        """The position of a neighbour in the arrays of edges."""
        graph = self.dataset.graph
        return int(graph.indptr[node] + np.searchsorted(graph.row(node), other))


def _date(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"
