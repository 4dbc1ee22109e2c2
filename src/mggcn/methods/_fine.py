"""The fine layer's aggregate of all neighbours, with the paper's mean or another normalisation."""

from typing import Literal

import numpy as np
import torch
from scipy.sparse import csr_array, hstack
from torch import Tensor

from mggcn.data import Draft, Features
from mggcn.graph import Graph
from mggcn.kernels.aggregate import neighbour_mean, neighbour_mean_on
from mggcn.methods._strips import rows_on_disk, write_rows
from mggcn.methods.method import GraphView
from mggcn.sampling.adjacency import propagated, propagation
from mggcn.training import Inputs

FineNorm = Literal["mean", "symmetric", "half"]


def fine_inputs(view: GraphView, hops: int, norm: FineNorm, include_self: bool) -> Inputs:
    """The rows ``[x | Ax | … | A^hops x]``, kept on disk if the run has a cache."""
    if view.cache is None:
        return view.inputs(*_parts(view, hops, norm, include_self))

    def build(draft: Draft) -> None:
        if norm == "mean" and isinstance(view.scaled.features, np.ndarray):
            write_rows(draft, view.graph, view.scaled, hops, include_self, view.threads)
            return
        parts = _parts(view, hops, norm, include_self)
        if isinstance(view.x, np.ndarray):
            draft.write("rows", np.hstack(parts))
            return
        joined = csr_array(hstack(parts, format="csr"))
        for name in ("data", "indices", "indptr"):
            draft.write(name, getattr(joined, name))

    what = {**(view.source or {}), "rows": "fine", "hops": hops, "norm": norm, "include_self": include_self}
    num_nodes, width = view.scaled.features.shape
    is_dense = isinstance(view.scaled.features, np.ndarray)
    arrays = view.cache.arrays(what, build, rows_on_disk(num_nodes, width, hops) if is_dense else 0)
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
