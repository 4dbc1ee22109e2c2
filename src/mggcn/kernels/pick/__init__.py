"""The picks S(v) of the paper's Algorithm 1: connected to the target, distinct, drawn in proportion to degree."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn import memory
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels import threads as threading
from mggcn.kernels.pick import cpu
from mggcn.kernels.pick.reference import BOTH, BREADTH, DEPTH, Explore
from mggcn.keys import Key

__all__ = ["DevicePickTable", "Explore", "PickTable", "running_sums", "sums_dtype"]

_ROWS = 1 << 14

_CODES: dict[Explore, int] = {"both": BOTH, "breadth": BREADTH, "depth": DEPTH}


@dataclass(frozen=True, eq=False)
class PickTable:
    """A graph prepared for drawing: for each stored edge, the running sum of the weights in its row.

    Attributes:
        graph: the graph to draw from.
        weights: [num_nodes] positive integers; a candidate is drawn in proportion to its weight.
        sums: [num_stored] running sums, int32 where they fit.
        names: [num_nodes] what identifies a node in the hashes of its draws; the node number when None.
    """

    graph: Graph
    weights: NDArray[np.int64]
    sums: NDArray[Any]
    names: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls,
        graph: Graph,
        *,
        weights: NDArray[np.int64] | None = None,
        names: NDArray[np.int64] | None = None,
        threads: int | None = None,
    ) -> "PickTable":
        """Prepare a graph; the default weights are the degrees, as in the paper."""
        weights = graph.degrees if weights is None else weights
        sums = np.empty(graph.num_stored, sums_dtype(graph, weights, threads))
        first = 0
        for part in running_sums(graph, weights, sums.dtype, threads):
            sums[first : first + part.size] = part
            first += part.size
        return cls(graph, weights, sums, names)

    def draw(
        self, targets: NDArray[np.int64], picks: int, key: Key, *, explore: Explore = "both", threads: int | None = None
    ) -> NDArray[Any]:
        """Draw S(v) of every target.

        Args:
            targets: nodes.
            picks: the paper's M.
            key: of the draw.
            explore: draw from the neighbours of all members (``both``, the paper), of the target only (``breadth``) or
                of the last pick only (``depth``).
            threads: all cores when None; the result does not depend on it.

        Returns:
            [len(targets), 1 + picks] nodes, the target first, then its picks in order. If the component has fewer than
            ``picks`` other nodes (or, with breadth or depth, no candidate is left), the row is padded with its target.
        """
        if picks < 1:
            raise InputError(f"picks: {picks} is less than 1")
        graph, dtype = self.graph, self.graph.indices.dtype
        memory.require(
            targets.size * (1 + picks) * dtype.itemsize, f"{targets.size:,} targets with {picks:,} picks each"
        )
        out = np.empty((targets.size, 1 + picks), dtype)
        arrays = (graph.indptr, graph.indices, self.sums, self.weights, graph.direction == "both")
        names = targets if self.names is None else self.names[targets]
        fill = partial(cpu.pick, *arrays, _CODES[explore], targets, names, np.uint64(key.value), out)
        threading.over_ranges(fill, targets.size, chunk=1024, threads=threads)
        return out

    def on(self, device: torch.device) -> "DevicePickTable":
        """Copy the table to a GPU."""
        arrays = (self.graph.indptr, self.graph.indices, self.sums, self.weights)
        indptr, indices, sums, weights = (torch.from_numpy(np.array(array)).to(device) for array in arrays)
        names = None if self.names is None else torch.from_numpy(self.names).to(device)
        return DevicePickTable(indptr, indices, sums, weights, self.graph.direction == "both", names)


def sums_dtype(graph: Graph, weights: NDArray[np.int64], threads: int | None = None) -> "np.dtype[Any]":
    """The narrower of int32 and int64 that holds the running sums of all rows."""
    largest = np.zeros(-(-graph.num_nodes // _ROWS), np.int64)
    fill = partial(cpu.largest_row_totals, graph.indptr, graph.indices, weights, _ROWS, largest)
    threading.over_ranges(fill, graph.num_nodes, chunk=_ROWS, threads=threads)
    return np.dtype(np.int32 if largest.max(initial=0) <= np.iinfo(np.int32).max else np.int64)


def running_sums(
    graph: Graph, weights: NDArray[np.int64], dtype: "np.dtype[Any]", threads: int | None = None
) -> Iterator[NDArray[Any]]:
    """The running sums of a :class:`PickTable`, some rows at a time."""
    for start, stop in graph.row_blocks():
        bounds = graph.indptr[start : stop + 1]
        sums = np.empty(bounds[-1] - bounds[0], dtype)
        entries = graph.indices[bounds[0] : bounds[-1]]
        fill = partial(cpu.running_sums, bounds - bounds[0], entries, weights, sums)
        threading.over_ranges(fill, stop - start, chunk=_ROWS, threads=threads)
        yield sums


@dataclass(frozen=True, eq=False)
class DevicePickTable:
    """A :class:`PickTable` whose arrays are on a GPU."""

    indptr: Tensor
    indices: Tensor
    sums: Tensor
    weights: Tensor
    symmetric: bool
    names: Tensor | None = None

    def draw(self, targets: Tensor, picks: int, key: Key, *, explore: Explore = "both") -> Tensor:
        """Draw S(v) of every target: [len(targets), 1 + picks], bit-identical to :meth:`PickTable.draw`."""
        return self.draw_rows(targets, picks, key, 1, explore=explore).view(-1, 1 + picks)

    def draw_rows(self, targets: Tensor, picks: int, key: Key, batch_size: int, *, explore: Explore = "both") -> Tensor:
        """Draw S(v) of every target in one launch, stored batch by batch, in each the targets first.

        Returns:
            [len(targets) · (1 + picks)]: a batch of b targets has b · (1 + picks) entries, member i of its target t
            at index i · b + t.
        """
        if picks < 1:
            raise InputError(f"picks: {picks} is less than 1")
        from mggcn.kernels.pick import gpu

        out = torch.empty(targets.numel() * (1 + picks), dtype=self.indices.dtype, device=self.indices.device)
        arrays = (self.indptr, self.indices, self.sums, self.weights, self.symmetric, _CODES[explore])
        if targets.numel():
            names = targets if self.names is None else self.names[targets]
            gpu.pick(*arrays, targets, names, picks, key, batch_size, out)
        return out
