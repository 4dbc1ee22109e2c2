"""The sub-graphs induced by sets of picks, which are the edges of the coarse grain: S(v) ∩ N(u) for every u in S(v)."""

from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn.graph import Graph
from mggcn.kernels import threads as threading
from mggcn.kernels._compiled import AnyInts, Ints, compiled
from mggcn.kernels.pick import is_neighbour


def induce(graph: Graph, picks: NDArray[Any], *, threads: int | None = None) -> NDArray[np.bool_]:
    """Which members of each set of picks are neighbours: [b, s] nodes to [b, s, s], entry (t, i, j) for j in N(i)."""
    out = np.empty((*picks.shape, picks.shape[1]), bool)
    fill = partial(_induce, graph.indptr, graph.indices, graph.direction == "both", picks, out)
    threading.over_ranges(fill, picks.shape[0], chunk=1024, threads=threads)
    return out


def induce_on(indptr: Tensor, indices: Tensor, symmetric: bool, members: Tensor) -> Tensor:
    """The same on a GPU: [s, b] members, targets first, to int8 [s · b, s], row ``i · b + t`` for member i of set t."""
    from mggcn.kernels.gpu import induce as gpu

    out = torch.empty(members.numel(), members.shape[0], dtype=torch.int8, device=members.device)
    gpu.induce(indptr, indices, symmetric, members, out)
    return out


@compiled
def _induce(
    indptr: Ints, indices: AnyInts, symmetric: bool, picks: AnyInts, out: NDArray[np.bool_], start: int, stop: int
) -> None:
    """Fill sets start … stop of ``out`` [b, s, s]."""
    size = picks.shape[1]
    for t in range(start, stop):
        for i in range(size):
            for j in range(size):
                u, w = picks[t, i], picks[t, j]
                is_padding = j > 0 and w == picks[t, 0]
                out[t, i, j] = not is_padding and is_neighbour(indptr, indices, symmetric, u, w)
