"""Picks S(v) of the paper's Algorithm 1: connected to the target, distinct, drawn in proportion to degree."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels import threads as threading
from mggcn.kernels.pick import cpu
from mggcn.keys import Key

_CHUNK_TARGETS = 1024
_CHUNK_ROWS = 1 << 14


@dataclass(frozen=True, eq=False)
class PickTable:
    """A graph made ready for drawing: beside each stored edge the running sum of weights inside its row.

    Attributes:
        graph: whose neighbours are picked.
        weights: [num_nodes] positive integers; a candidate is drawn in proportion to its weight.
        sums: [num_stored] running sums, int32 where they fit.
    """

    graph: Graph
    weights: NDArray[np.int64]
    sums: NDArray[Any]

    @classmethod
    def of(cls, graph: Graph, *, weights: NDArray[np.int64] | None = None, threads: int | None = None) -> "PickTable":
        """Prepare a graph; ``weights`` are the degrees, as in the paper, unless given."""
        weights = graph.degrees if weights is None else weights
        largest = cpu.largest_row_total(graph.indptr, graph.indices, weights)
        sums = np.empty(graph.num_stored, np.int32 if largest <= np.iinfo(np.int32).max else np.int64)

        def fill(start: int, stop: int) -> None:
            cpu.running_sums(graph.indptr, graph.indices, weights, sums, start, stop)

        threading.over_ranges(fill, graph.num_nodes, chunk=_CHUNK_ROWS, threads=threads)
        return cls(graph, weights, sums)

    def draw(self, targets: NDArray[np.int64], picks: int, key: Key, *, threads: int | None = None) -> NDArray[Any]:
        """Draw S(v) of every target.

        Returns:
            [len(targets), 1 + picks] nodes, the target first, then its picks in order. Where a component holds fewer
            than ``picks`` others, the row is padded with its target.
        """
        if picks < 1:
            raise InputError(f"picks: {picks} is less than 1")
        graph, out = self.graph, np.empty((targets.size, 1 + picks), self.graph.indices.dtype)
        arrays = (graph.indptr, graph.indices, self.sums, self.weights, graph.direction == "both")

        def fill(start: int, stop: int) -> None:
            cpu.pick(*arrays, targets, np.uint64(key.value), out, start, stop)

        threading.over_ranges(fill, targets.size, chunk=_CHUNK_TARGETS, threads=threads)
        return out
