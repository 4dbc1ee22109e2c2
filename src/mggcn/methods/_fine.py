"""The fine layer: input rows ``[x | Ax | … | A^hops x | Bx | …]`` computed in one of three ways.

There is one average, A, B and so on, for each group of relations that the edges of the graph have; a single one if
nothing is known of them. In memory, all columns are computed at once. On disk, some columns of all nodes at a time: a
block of rows would read its neighbours' rows from all over the disk; a strip of columns is read from beginning to end,
and is in memory while it is averaged. Sums run in the same order as over all columns, so the bits are equal. Wide
sparse features may be multiplied by the first layer's weights before they are averaged, which is decided by the number
of entries; not if input values are dropped in training, which drops those of the averages, as long as memory holds
them.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from scipy.sparse import csr_array, eye_array, hstack
from torch import Tensor

from mggcn._io.mapping import is_too_large
from mggcn._io.memory import size
from mggcn.data import ArrayWriter, Features, FolderWriter
from mggcn.errors import InputError
from mggcn.graph import EdgeSchema, Graph, Grouping
from mggcn.kernels.aggregate import neighbour_mean, neighbour_mean_on
from mggcn.methods.method import GraphView
from mggcn.sampling.adjacency import mean_operator, propagated, propagation
from mggcn.training import DENSE_ABOVE, EVAL_BATCH, AveragedInputs, Inputs, Scaled

FineNorm = Literal["mean", "symmetric", "half"]
Relations = Literal["auto", "none", "direction", "type", "both"]

MOST_COLUMNS = 8192
"""The widest input rows for which ``auto`` averages over directions or types apart."""
_APART: dict[Grouping, str] = {"both": "directions and types", "direction": "directions", "type": "types"}

_BLOCK = 1 << 24  # bytes of the rows that are read or joined at a time
_BYTES_PER_VALUE = 3 * 4  # of the strip, its means, and what the last of them was made of
_SAMPLE = 256  # rows whose averages are computed to count their entries
_EDGE = 2  # entries that take as long as an edge, whose sender is renumbered, too
_MARGIN = 2  # by this factor the entries must be fewer
_BYTES_PER_ENTRY = 2 * 8  # of the averages, and of what they are joined to


def grouping(relations: Relations, edges: EdgeSchema, num_features: int, hops: int) -> Grouping:
    """By what relations are aggregated apart: what was asked for, or all that is known of edges, up to a width."""
    there = {"both": edges.directed and edges.types, "direction": edges.directed, "type": edges.types}
    if relations in there and not there[relations]:
        known = " and ".join(_APART[by] for by in ("direction", "type") if there[by]) or "neither directions nor types"
        raise InputError(f"relations: {relations!r} needs more than is known of the edges of this graph: {known}")
    if relations != "auto":
        return relations
    for by in _APART:
        if there[by] and num_features * (1 + hops * len(edges.groups(by))) <= MOST_COLUMNS:
            return by
    return "none"


@dataclass(frozen=True)
class Fine:
    """How the fine layer aggregates the features of a graph.

    Attributes:
        hops: how often; 0 if there is no fine layer.
        norm: each hop's average, see :class:`mggcn.methods.MixGrained`.
        include_self: whether the mean over neighbours includes the node itself.
        relations: which relations are aggregated apart.
        edges: what is known of the edges.
        num_features: the width of the features.
    """

    hops: int
    norm: FineNorm
    include_self: bool
    relations: Relations
    edges: EdgeSchema
    num_features: int

    @cached_property
    def by(self) -> Grouping:
        """By what relations are aggregated apart."""
        return grouping(self.relations, self.edges, self.num_features, self.hops) if self.hops else "none"

    @cached_property
    def groups(self) -> tuple[tuple[int, ...] | None, ...]:
        """The relations of each group; a single None for all of them."""
        groups = tuple(self.edges.groups(self.by).values())
        return groups if len(groups) > 1 else (None,)

    @property
    def num_parts(self) -> int:
        """The number of matrices as wide as the features that make up the input rows."""
        return 1 + self.hops * len(self.groups)

    @property
    def limit(self) -> str:
        """Why ``auto`` leaves relations together; empty if it does not."""
        most = grouping("auto", self.edges, 0, 1)
        if self.relations != "auto" or not self.hops or most == self.by:
            return ""
        width = self.num_features * (1 + self.hops * len(self.edges.groups(most)))
        wide = f"{width:,} columns, more than {MOST_COLUMNS:,}"
        return f"{_APART[most]} apart would make input rows of {wide}; relations={most!r} uses them"

    def inputs(self, view: GraphView) -> Inputs:
        """The input rows, kept on disk if the run has a cache."""
        cache = view.cache
        if cache is None:
            return view.inputs(*self._parts(view))

        def build(folder: FolderWriter) -> None:
            if self.norm == "mean" and isinstance(view.scaled.features, np.ndarray):
                self.write_rows(folder, cache.memory, view.graph, view.scaled, view.threads)
                return
            parts = self._parts(view)
            if isinstance(view.x, np.ndarray):
                folder.write("rows", np.hstack(parts))
                return
            joined = csr_array(hstack(parts, format="csr"))
            for name in ("data", "indices", "indptr"):
                folder.write(name, getattr(joined, name))

        what = {"rows": "fine", "hops": self.hops, "norm": self.norm, "include_self": self.include_self}
        apart = {"relations": self.by} if self.by != "none" else {}
        is_dense = isinstance(view.scaled.features, np.ndarray)
        num_bytes = self.on_disk(view.graph.num_nodes) if is_dense else 0
        arrays = cache.arrays({**(view.source or {}), **what, **apart}, build, num_bytes)
        if "rows" in arrays:
            return view.inputs(arrays["rows"])
        return view.inputs(csr_array((arrays["data"], arrays["indices"], arrays["indptr"])))

    def _parts(self, view: GraphView) -> list[Features]:
        parts = [view.x]
        for group in self.groups:
            part, average = view.x, self.average(view.graph, group, view.threads)
            for _ in range(self.hops):
                part = average(part)
                parts.append(part)
        return parts

    def average(
        self, graph: Graph, group: tuple[int, ...] | None = None, threads: int | None = None
    ) -> Callable[[Features], Features]:
        """What maps features to the aggregates of every node over a group of relations, over all when None."""
        if self.norm == "mean":
            return partial(neighbour_mean, graph, include_self=self.include_self, relations=group, threads=threads)
        symmetric = partial(propagated, propagation(graph, relations=group), threads=threads)
        return symmetric if self.norm == "symmetric" else lambda x: (x + symmetric(x)) * np.float32(0.5)

    def parts_on(self, graph: Graph, indptr: Tensor, indices: Tensor, x: Tensor) -> list[Tensor]:
        """The parts of the input rows on the GPU that holds the features and the rows of the graph."""
        parts = [x]
        for group in self.groups:
            adjacency, part = _OnDevice.of(graph, group, indptr, indices), x
            for _ in range(self.hops):
                part = adjacency.aggregate(part, self.norm, self.include_self)
                parts.append(part)
        return parts

    def bytes_on_device(self, graph: Graph) -> int:
        """The memory that :meth:`parts_on` takes on a GPU, with a copy of the rows, and the graph."""
        entries = 0 if graph.relations is None else graph.relations.indices.size
        return 4 * (2 * self.num_parts * graph.num_nodes * self.num_features + 4 * graph.num_stored + 4 * entries)

    def on_disk(self, num_nodes: int) -> int:
        """The bytes of the rows, and of the means that are joined to them."""
        return 4 * num_nodes * self.num_features * (2 * self.num_parts - 1)

    def write_rows(self, folder: FolderWriter, memory: int, graph: Graph, scaled: Scaled, threads: int | None) -> None:
        """Write ``rows``: [num_nodes, num_parts · num_features], the scaled features and their means side by side."""
        num_nodes, width = scaled.features.shape
        per_column = _BYTES_PER_VALUE * num_nodes
        if memory < per_column:
            problem = f"{size(memory)} are too little for {num_nodes:,} nodes"
            raise InputError(f"memory: {problem}, at least {size(per_column)} are needed")
        strips = [*_ranges(width, memory // per_column)]

        def path_of(number: int, group: int, hop: int) -> Path:
            return folder.path / f"part-{group}-{hop}-{number}.npy"

        for number, columns in enumerate(strips):
            strip = np.empty((num_nodes, columns.stop - columns.start), np.float32)
            for block in _blocks(num_nodes, width):
                strip[block] = scaled.rows(block.start, block.stop)[:, columns]
            for index, group in enumerate(self.groups):
                part, average = strip, self.average(graph, group, threads)
                for hop in range(self.hops):
                    part = np.asarray(average(part))
                    writer = ArrayWriter(path_of(number, index, hop), np.float32, part.shape[1:])
                    writer.append(part)
                    writer.close()
        parts = [
            np.load(path_of(number, index, hop), mmap_mode="r")
            for index in range(len(self.groups))
            for hop in range(self.hops)
            for number in range(len(strips))
        ]
        rows = folder.array("rows", np.float32, (self.num_parts * width,))
        for block in _blocks(num_nodes, self.num_parts * width):
            joined = [np.asarray(scaled.rows(block.start, block.stop)), *(part[block] for part in parts)]
            rows.append(np.hstack(joined))

    def averaged_later(self, view: GraphView, members: int) -> tuple[AveragedInputs, str] | None:
        """The input rows in the form that multiplies first and the reason, or None if the averages are better.

        A GPU holds the averages. Dropout of input values drops those of the averages, so that they are better then, if
        memory holds them; else each step computes those of its batch. ``members`` are the input rows of a target.
        """
        if not self.hops or view.compute.device.type != "cpu" or isinstance(view.scaled.rows(0, 1), np.ndarray):
            return None
        if isinstance(x := view.x, np.ndarray):
            return None
        averages = tuple(
            view.once(("average", self, group), partial(self._operator, view.graph, group)) for group in self.groups
        )
        inputs, entries = AveragedInputs(x, averages, self.hops), _entries_a_row(x, averages, self.hops)
        if view.training is not None and view.training.input_dropout:
            needed = int(_BYTES_PER_ENTRY * entries * view.graph.num_nodes)
            too_large = f"averages are computed in each step: all take {size(needed)}"
            return (inputs, too_large) if is_too_large(needed) else None
        rows = (EVAL_BATCH if view.training is None else view.training.batch_size) * members
        most = DENSE_ABOVE * self.num_parts * x.shape[1]  # dense rows count as the densest sparse
        averaged = _distinct(rows, view.graph.num_nodes) * min(entries, most)
        later = _entries_of_products(x, averages, self.hops, rows)
        if _MARGIN * later > averaged:
            return None
        reason = (
            f"features are multiplied first and averaged afterwards: about {later:,.0f} entries and edges a step, "
            f"{averaged:,.0f} with their averages"
        )
        return inputs, reason

    def _operator(self, graph: Graph, group: tuple[int, ...] | None) -> csr_array:
        if self.norm == "mean":
            return mean_operator(graph, self.include_self, group)
        a = propagation(graph, relations=group)
        if self.norm == "half":
            a = csr_array((a + eye_array(graph.num_nodes, format="csr")) * np.float32(0.5))
        return a


@dataclass(frozen=True, eq=False)
class _OnDevice:
    """The edges of some relations on a GPU, and the square roots of the weights at both ends for a symmetric norm."""

    indptr: Tensor
    indices: Tensor
    weight: Tensor | None
    of_rows: Tensor
    of_columns: Tensor

    @classmethod
    def of(cls, graph: Graph, group: tuple[int, ...] | None, indptr: Tensor, indices: Tensor) -> "_OnDevice":
        if graph.relations is None:
            root = torch.sqrt(torch.diff(indptr).float() + 1)[:, None]
            return cls(indptr, indices, None, root, root)
        matrix, n = graph.matrix(group), graph.num_nodes
        is_one_way = group is not None and graph.schema.is_one_way(group)
        totals = [np.bincount(matrix.indices, matrix.data, n)] if is_one_way else []
        totals.append(np.bincount(np.repeat(np.arange(n), np.diff(matrix.indptr)), matrix.data, n))
        roots = [torch.from_numpy(np.sqrt(total + 1)).float().to(indptr.device)[:, None] for total in totals]
        rows, columns, weight = (
            torch.from_numpy(np.array(array)).to(indptr.device)
            for array in (matrix.indptr, matrix.indices, matrix.data)
        )
        return cls(rows, columns, weight, roots[-1], roots[0])

    def aggregate(self, x: Tensor, norm: FineNorm, include_self: bool) -> Tensor:
        """:meth:`Fine.average` on the GPU; Âx is a mean of scaled rows, scaled again."""
        if norm == "mean":
            return neighbour_mean_on(self.indptr, self.indices, x, self.weight, include_self=include_self)
        scaled = x / self.of_columns.to(x.dtype)
        mean = neighbour_mean_on(self.indptr, self.indices, scaled, self.weight, include_self=True)
        aggregate = mean * self.of_rows.to(x.dtype)
        return aggregate if norm == "symmetric" else (x + aggregate) / 2


def memory_for_rows(num_nodes: int, width: int, most: int) -> int:
    """The bytes of memory that computing the rows takes: at most the limit, or what all columns need."""
    return min(most, _BYTES_PER_VALUE * num_nodes * width)


def _blocks(num_nodes: int, width: int) -> Iterator[slice]:
    return _ranges(num_nodes, max(_BLOCK // (4 * max(width, 1)), 1))


def _ranges(count: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


def _entries_a_row(x: csr_array, averages: tuple[csr_array, ...], hops: int) -> float:
    """The mean number of entries of a row ``[x | Ax | …]``, estimated from some rows."""
    nodes = np.unique(np.linspace(0, x.shape[0] - 1, _SAMPLE).astype(np.int64))
    count = x[nodes].nnz
    for a in averages:
        factors = a[nodes]
        for _ in range(hops):
            count += (factors @ x).nnz
            factors = factors @ a
    return float(count / nodes.size)


def _entries_of_products(x: csr_array, averages: tuple[csr_array, ...], hops: int, rows: int) -> float:
    """Of the rows of x that a step multiplies, and the edges over which it averages the products."""
    num_nodes = x.shape[0]
    total = _distinct(rows, num_nodes) * x.nnz / num_nodes
    for a in averages:
        reached = _distinct(rows, num_nodes)
        for _ in range(hops):
            edges = reached * a.nnz / num_nodes
            reached = _distinct(edges, num_nodes)
            total += _EDGE * edges + reached * x.nnz / num_nodes
    return float(total)


def _distinct(draws: float, num_nodes: int) -> float:
    """The mean number of different nodes among ``draws`` uniform draws."""
    return num_nodes * -math.expm1(-draws / num_nodes)
