"""The fine layer: input rows ``[x | Ax | … | A^hops x]`` computed in one of three ways.

In memory, all columns at once. On disk, for some columns of all nodes at a time: a block of rows would read its
neighbours' rows from all over the disk; a strip of columns is read from beginning to end, and is in memory while it is
averaged. Sums run in the same order as over all columns, so the bits are equal. Wide sparse features may be multiplied
by the first layer's weights before they are averaged, which is decided by the number of entries.
"""

import math
from collections.abc import Iterator
from typing import Literal

import numpy as np
import torch
from scipy.sparse import csr_array, eye_array, hstack
from torch import Tensor

from mggcn._io.memory import size
from mggcn.data import ArrayWriter, Features, FolderWriter
from mggcn.errors import InputError
from mggcn.graph import Graph
from mggcn.kernels.aggregate import neighbour_mean, neighbour_mean_on
from mggcn.methods.method import GraphView
from mggcn.sampling.adjacency import mean_operator, propagated, propagation
from mggcn.training import DENSE_ABOVE, EVAL_BATCH, AveragedInputs, Inputs, Scaled

FineNorm = Literal["mean", "symmetric", "half"]

_BLOCK = 1 << 24  # bytes of the rows that are read or joined at a time
_BYTES_PER_VALUE = 3 * 4  # of the strip, its means, and what the last of them was made of
_SAMPLE = 256  # rows whose averages are computed to count their entries
_EDGE = 2  # entries that take as long as an edge, whose sender is renumbered, too
_MARGIN = 2  # by this factor the entries must be fewer


def fine_inputs(view: GraphView, hops: int, norm: FineNorm, include_self: bool) -> Inputs:
    """The rows ``[x | Ax | … | A^hops x]``, kept on disk if the run has a cache."""
    cache = view.cache
    if cache is None:
        return view.inputs(*_parts(view, hops, norm, include_self))

    def build(folder: FolderWriter) -> None:
        if norm == "mean" and isinstance(view.scaled.features, np.ndarray):
            write_rows(folder, cache.memory, view.graph, view.scaled, hops, include_self, view.threads)
            return
        parts = _parts(view, hops, norm, include_self)
        if isinstance(view.x, np.ndarray):
            folder.write("rows", np.hstack(parts))
            return
        joined = csr_array(hstack(parts, format="csr"))
        for name in ("data", "indices", "indptr"):
            folder.write(name, getattr(joined, name))

    what = {**(view.source or {}), "rows": "fine", "hops": hops, "norm": norm, "include_self": include_self}
    num_nodes, width = view.scaled.features.shape
    is_dense = isinstance(view.scaled.features, np.ndarray)
    arrays = cache.arrays(what, build, rows_on_disk(num_nodes, width, hops) if is_dense else 0)
    if "rows" in arrays:
        return view.inputs(arrays["rows"])
    return view.inputs(csr_array((arrays["data"], arrays["indices"], arrays["indptr"])))


def _parts(view: GraphView, hops: int, norm: FineNorm, include_self: bool) -> list[Features]:
    parts = [view.x]
    for _ in range(hops):
        parts.append(fine(view.graph, parts[-1], norm, include_self, view.threads))
    return parts


def fine(graph: Graph, x: Features, norm: FineNorm, include_self: bool, threads: int | None) -> Features:
    """[num_nodes, channels] the aggregate of every node; ``include_self`` matters only for the mean."""
    if norm == "mean":
        return neighbour_mean(graph, x, include_self=include_self, threads=threads)
    aggregate = propagated(propagation(graph), x, threads)
    return aggregate if norm == "symmetric" else (x + aggregate) * np.float32(0.5)


def fine_on(indptr: Tensor, indices: Tensor, x: Tensor, norm: FineNorm, include_self: bool) -> Tensor:
    """The same on the GPU that holds the graph; Âx is a mean of scaled rows, scaled again."""
    if norm == "mean":
        return neighbour_mean_on(indptr, indices, x, include_self=include_self)
    root = torch.sqrt(torch.diff(indptr).to(x.dtype) + 1)[:, None]
    aggregate = neighbour_mean_on(indptr, indices, x / root, include_self=True) * root
    return aggregate if norm == "symmetric" else (x + aggregate) / 2


def rows_on_disk(num_nodes: int, width: int, hops: int) -> int:
    """The bytes of the rows, and of the means that are joined to them."""
    return 4 * num_nodes * width * (1 + 2 * hops)


def memory_for_rows(num_nodes: int, width: int, most: int) -> int:
    """The bytes of memory that computing the rows takes: at most the limit, or what all columns need."""
    return min(most, _BYTES_PER_VALUE * num_nodes * width)


def write_rows(
    folder: FolderWriter, memory: int, graph: Graph, scaled: Scaled, hops: int, include_self: bool, threads: int | None
) -> None:
    """Write ``rows``: [num_nodes, (1 + hops) · num_features], the scaled features and their means side by side."""
    num_nodes, width = scaled.features.shape
    per_column = _BYTES_PER_VALUE * num_nodes
    if memory < per_column:
        problem = f"{size(memory)} are too little for {num_nodes:,} nodes"
        raise InputError(f"memory: {problem}, at least {size(per_column)} are needed")
    strips = [*_ranges(width, memory // per_column)]
    for number, columns in enumerate(strips):
        part = np.empty((num_nodes, columns.stop - columns.start), np.float32)
        for block in _blocks(num_nodes, width):
            part[block] = scaled.rows(block.start, block.stop)[:, columns]
        for hop in range(hops):
            part = np.asarray(neighbour_mean(graph, part, include_self=include_self, threads=threads))
            writer = ArrayWriter(folder.path / f"hop-{hop}-{number}.npy", np.float32, part.shape[1:])
            writer.append(part)
            writer.close()
    parts = [
        np.load(folder.path / f"hop-{hop}-{number}.npy", mmap_mode="r")
        for hop in range(hops)
        for number in range(len(strips))
    ]
    rows = folder.array("rows", np.float32, ((1 + hops) * width,))
    for block in _blocks(num_nodes, (1 + hops) * width):
        joined = [np.asarray(scaled.rows(block.start, block.stop)), *(part[block] for part in parts)]
        rows.append(np.hstack(joined))


def _blocks(num_nodes: int, width: int) -> Iterator[slice]:
    return _ranges(num_nodes, max(_BLOCK // (4 * max(width, 1)), 1))


def _ranges(count: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


def averaged_later(
    view: GraphView, hops: int, norm: FineNorm, include_self: bool, members: int
) -> AveragedInputs | None:
    """The rows ``[x | Ax | … ]`` in the form that multiplies first, or None if the averages themselves are better.

    Dropout of input values is then that of x before it is averaged, so the choice may not depend on the number of
    processes, nor on whether the data set is mapped. A GPU holds the averages. ``members`` are the input rows of a
    target.
    """
    if hops == 0 or view.compute.device.type != "cpu" or isinstance(view.scaled.rows(0, 1), np.ndarray):
        return None
    if isinstance(x := view.x, np.ndarray):
        return None
    training, a = view.training, mean_operator(view.graph, include_self) if norm == "mean" else propagation(view.graph)
    if norm == "half":
        a = csr_array((a + eye_array(view.graph.num_nodes, format="csr")) * np.float32(0.5))
    rows = (EVAL_BATCH if training is None else training.batch_size) * members
    averaged, later = _entries_of_averages(x, a, hops, rows), _entries_of_products(x, a, hops, rows)
    if _MARGIN * later > averaged:
        return None
    reason = (
        f"features are multiplied first and averaged afterwards: about {later:,.0f} entries and edges a step, "
        f"{averaged:,.0f} with their averages"
    )
    return AveragedInputs(x, a, hops, reason)


def _entries_of_averages(x: csr_array, a: csr_array, hops: int, rows: int) -> float:
    """How many values other than 0 the distinct rows ``[x | Ax | …]`` of a step have, estimated from some rows.

    Rows that are read as dense ones count as many as the densest sparse rows.
    """
    nodes = np.unique(np.linspace(0, x.shape[0] - 1, _SAMPLE).astype(np.int64))
    factors, count = a[nodes], x[nodes].nnz
    for _ in range(hops):
        count += (factors @ x).nnz
        factors = factors @ a
    dense = DENSE_ABOVE * (1 + hops) * x.shape[1]
    return float(_distinct(rows, x.shape[0]) * min(count / nodes.size, dense))


def _entries_of_products(x: csr_array, a: csr_array, hops: int, rows: int) -> float:
    """How many values the rows of x that a step multiplies have, and the edges over which it averages the products."""
    num_nodes = x.shape[0]
    reached = _distinct(rows, num_nodes)
    total = reached * x.nnz / num_nodes
    for _ in range(hops):
        edges = reached * a.nnz / num_nodes
        reached = _distinct(edges, num_nodes)
        total += _EDGE * edges + reached * x.nnz / num_nodes
    return float(total)


def _distinct(draws: float, num_nodes: int) -> float:
    """The mean number of different nodes among ``draws`` uniform draws."""
    return num_nodes * -math.expm1(-draws / num_nodes)
