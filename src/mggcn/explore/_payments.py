"""What went between a node and its neighbours, from the edge attributes of Ethereum data sets."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.data import Dataset

NAMES = ("count", "value", "first", "last")
"""Number of transactions, ether, first and last time, per direction."""


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
