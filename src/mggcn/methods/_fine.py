"""The fine layer's aggregate of all neighbours, with the paper's mean or another normalisation."""

from typing import Literal

import numpy as np
import torch
from torch import Tensor

from mggcn.dataset import Features
from mggcn.graph import Graph
from mggcn.kernels.aggregate import neighbour_mean, neighbour_mean_on
from mggcn.sampling.adjacency import propagated, propagation

FineNorm = Literal["mean", "symmetric", "half"]


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
