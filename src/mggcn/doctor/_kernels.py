"""Every kernel on small random inputs, compared with its reference as the tests compare them."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import torch
from scipy.sparse import random_array

from mggcn._io.arrays import shared_tensor
from mggcn.block import Block
from mggcn.errors import first_line
from mggcn.graph import Graph
from mggcn.kernels.adam import comparison as adam
from mggcn.kernels.aggregate import comparison as aggregate
from mggcn.kernels.combine import comparison as combine
from mggcn.kernels.dropout import comparison as dropout
from mggcn.kernels.expand import comparison as expand
from mggcn.kernels.gather_product import comparison as gather_product
from mggcn.kernels.gather_sum import comparison as gather_sum
from mggcn.kernels.induce import comparison as induce
from mggcn.kernels.loss import comparison as loss
from mggcn.kernels.neighbors import comparison as neighbors
from mggcn.kernels.pick import PickTable
from mggcn.kernels.pick import comparison as pick
from mggcn.kernels.relabel import comparison as relabel
from mggcn.kernels.saint_walk import comparison as saint_walk
from mggcn.kernels.sparse_product import comparison as sparse_product
from mggcn.kernels.subgraph import comparison as subgraph
from mggcn.kernels.subset import comparison as subset
from mggcn.kernels.walk import comparison as walk
from mggcn.keys import Key
from mggcn.sampling.mix_grained_gpu import find_repeats

BackEnd = Literal["cpu", "gpu"]

_NODES, _EDGES, _PICKS, _CHANNELS = 60, 200, 4, 16


@dataclass(frozen=True)
class KernelCheck:
    """One back end of a kernel beside its reference.

    Attributes:
        kernel: its name, a folder of ``mggcn.kernels``.
        back_end: ``cpu`` or ``gpu``.
        milliseconds: of the comparison; the first one on a machine includes compilation.
        problem: the first line of what went wrong; empty if the results agree.
    """

    kernel: str
    back_end: BackEnd
    milliseconds: float
    problem: str = ""


def check_kernels(gpu: torch.device | None = None) -> Iterator[KernelCheck]:
    """Compare every kernel of the CPU with its reference, and those of a GPU if a device is given."""
    back_ends: list[tuple[BackEnd, dict[str, Callable[[], None]]]] = [("cpu", _on_cpu())]
    if gpu is not None:
        back_ends.append(("gpu", _on_gpu(gpu)))
    for back_end, comparisons in back_ends:
        for kernel, compare in comparisons.items():
            started, problem = time.perf_counter(), ""
            try:
                compare()
            except Exception as error:  # noqa: BLE001 - a broken compiler or driver raises its own exceptions
                problem = first_line(error)
            yield KernelCheck(kernel, back_end, round((time.perf_counter() - started) * 1000, 1), problem)


def _on_cpu() -> dict[str, Callable[[], None]]:
    graph, key, rng = _graph(), Key.of(0), np.random.default_rng(0)
    nodes, x = np.arange(graph.num_nodes), rng.normal(size=(_NODES, _CHANNELS)).astype(np.float32)
    row_sizes = np.diff(graph.indptr)
    sparse = random_array((_NODES, 40), density=0.1, format="csr", dtype=np.float32, rng=rng)
    return {
        "adam": partial(adam.on_cpu, 1000, 0.01),
        "aggregate": partial(aggregate.on_cpu, graph, x, include_self=True),
        "combine": partial(combine.on_cpu, _rows(1 + _PICKS), 1 + _PICKS, 0.01),
        "dropout": partial(dropout.on_cpu, sparse, torch.arange(_NODES), 0.3, key),
        "gather_sum": partial(gather_sum.on_cpu, _block(graph), _CHANNELS),
        "induce": partial(induce.on_cpu, graph, PickTable.of(graph).draw(nodes, _PICKS, key)),
        "loss": partial(loss.on_cpu, _NODES, 7, weighted=True),
        "neighbors": partial(neighbors.on_cpu, graph, nodes, 5, key, include_self=True),
        "pick": partial(pick.on_cpu, graph, _PICKS, key),
        "relabel": partial(relabel.on_cpu, nodes, graph.indptr, graph.indices, _NODES),
        "saint_walk": partial(saint_walk.on_cpu, graph, nodes, 20, 3, key),
        "sparse_product": partial(sparse_product.on_cpu, sparse, torch.arange(_NODES, dtype=torch.int32), _CHANNELS),
        "subgraph": partial(subgraph.on_cpu, graph, nodes[::2]),
        "subset": partial(subset.on_cpu, row_sizes, nodes, 5, key),
        "walk": partial(walk.on_cpu, graph, 10, key, p=0.5, q=2.0),
    }


def _on_gpu(device: torch.device) -> dict[str, Callable[[], None]]:
    graph, key, rng = _graph(), Key.of(0), np.random.default_rng(0)
    x = rng.normal(size=(_NODES, _CHANNELS)).astype(np.float32)
    members = PickTable.of(graph).draw(np.arange(graph.num_nodes), _PICKS, key)
    repeats = find_repeats(torch.from_numpy(members.reshape(-1)).to(device), members.size, _NODES)[0]
    weight = torch.randn(2 * _CHANNELS, 7, generator=torch.Generator().manual_seed(0)).to(device)
    return {
        "adam": partial(adam.on_gpu, (1000, 7), 0.01, device),
        "aggregate": partial(aggregate.on_gpu, graph, x, include_self=True, device=device),
        "combine": partial(combine.on_gpu, _rows(1 + _PICKS).to(device), 1 + _PICKS, 0.01, weight),
        "expand": partial(expand.on_gpu, repeats, _CHANNELS),
        "gather_product": partial(gather_product.on_gpu, torch.from_numpy(x).to(device), repeats.index, _CHANNELS),
        "gather_sum": partial(gather_sum.on_gpu, _block(graph).to(device), _CHANNELS),
        "induce": partial(induce.on_gpu, graph, members, device),
        "loss": partial(loss.on_gpu, _NODES, 7, weighted=True, device=device),
        "pick": partial(pick.on_gpu, graph, _PICKS, key, device),
    }


def _graph() -> Graph:
    """A random graph with a hub, node 0, and one node without neighbours, the last."""
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, _NODES - 1, (2, _EDGES))
    hub = np.arange(1, _NODES // 2)
    return Graph.from_edges(np.concatenate([source, 0 * hub]), np.concatenate([target, hub]), _NODES)


def _block(graph: Graph) -> Block:
    """The block in which every node aggregates its neighbours."""
    indptr, indices = shared_tensor(graph.indptr), shared_tensor(graph.indices).long()
    return Block(_NODES, indptr, indices, torch.arange(_NODES))


def _rows(group: int) -> torch.Tensor:
    return torch.randn(group * _NODES, _CHANNELS, generator=torch.Generator().manual_seed(0))
