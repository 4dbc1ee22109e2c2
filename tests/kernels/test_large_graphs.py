"""Kernels on graphs of another size: 64-bit node numbers, entries past 2^31, and batches of graphs with many nodes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mggcn.graph import Graph
from mggcn.kernels import aggregate, relabel
from mggcn.kernels.aggregate import neighbour_mean
from mggcn.kernels.neighbors import draw_neighbours, subset
from mggcn.kernels.pick import PickTable, induce
from mggcn.kernels.relabel import block_between, subgraph
from mggcn.kernels.walk import visited, walk
from mggcn.keys import Key
from mggcn.sampling import grains
from mggcn.sampling.adjacency import propagated, propagation
from mggcn.sampling.mix_grained import find_repeats

pytestmark = pytest.mark.slow

KEY, NODES = Key.of(3), 60
FAR = 2**31 + 1000


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Node 0 has no neighbours."""
    rng = np.random.default_rng(0)
    return Graph.from_edges(rng.integers(1, NODES, 200), rng.integers(1, NODES, 200), NODES)


def _arrays(value: Any) -> list[np.ndarray]:
    if isinstance(value, tuple):
        return [array for part in value for array in _arrays(part)]
    return [value.numpy() if isinstance(value, torch.Tensor) else np.asarray(value)]


def _subgraph(graph: Graph) -> Any:
    part = subgraph(graph, np.arange(1, 40, 2))
    return part.nodes, part.indptr, part.indices, part.entries


def _block(graph: Graph) -> Any:
    starts, senders = draw_neighbours(graph, np.arange(1, 20), 3, KEY)
    block, nodes = block_between(np.arange(1, 20), starts, senders, graph.num_nodes)
    return block.indices, nodes


def _coarse(graph: Graph) -> Any:
    block = grains.coarse(graph, PickTable.of(graph).draw(np.arange(1, NODES), 4, KEY))
    return block.indptr, block.indices


OF_GRAPH: dict[str, Callable[[Graph], Any]] = {
    "aggregate": lambda graph: neighbour_mean(graph, _x(), include_self=True),
    "coarse": _coarse,
    "gather_sum": lambda graph: propagated(propagation(graph), _x()),
    "induce": lambda graph: induce(graph, np.arange(1, 41).reshape(10, 4).astype(graph.indices.dtype)),
    "neighbors": lambda graph: draw_neighbours(graph, np.arange(NODES), 3, KEY, include_self=True),
    "pick": lambda graph: (PickTable.of(graph).sums, PickTable.of(graph).draw(np.arange(NODES), 5, KEY)),
    "relabel": _block,
    "saint_walk": lambda graph: visited(graph, np.arange(1, NODES), 5, 4, KEY),
    "subgraph": _subgraph,
    "subset": lambda graph: subset(graph.indptr.astype(graph.indices.dtype), np.arange(NODES), 2, KEY),
    "walk": lambda graph: walk(graph, np.arange(NODES), 6, KEY, p=0.5, q=2.0),
}


def _x() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(NODES, 7)).astype(np.float32)


@pytest.mark.parametrize("kernel", OF_GRAPH)
def test_wide_node_numbers_give_the_same_result(graph: Graph, kernel: str) -> None:
    wide = Graph(graph.indptr, graph.indices.astype(np.int64))
    for narrow, other in zip(_arrays(OF_GRAPH[kernel](graph)), _arrays(OF_GRAPH[kernel](wide)), strict=True):
        assert np.array_equal(narrow, other)


def test_wide_repeats_give_the_same_result() -> None:
    rows = torch.tensor([5, 3, 5, 5, 1, 3, 2, 2])
    for narrow, wide in zip(find_repeats(rows, 4, 10), find_repeats(rows, 4, 2**31 + 10), strict=True):
        assert (narrow.packed.dtype, wide.packed.dtype) == (torch.int32, torch.int64)
        assert torch.equal(narrow.packed.long(), wide.packed)
    far = find_repeats(rows + 2**31, 4, 2**31 + 10)[0]
    assert far.nodes[:2].tolist() == [2**31 + 3, 2**31 + 5]


@pytest.fixture
def far(graph: Graph, tmp_path: Path) -> tuple[Graph, PickTable]:
    """The same graph in files in which the row of node 0 has more than 2^31 entries, which take no space on disk."""

    def stored(name: str, values: np.ndarray) -> np.ndarray:
        array = np.memmap(tmp_path / name, values.dtype, "w+", shape=(FAR + values.size,))
        array[FAR:] = values
        return array

    indptr = np.concatenate([[0], graph.indptr[1:] + FAR])
    shifted = Graph(indptr, stored("indices", graph.indices), checked=True)
    table = PickTable.of(graph)
    return shifted, PickTable(shifted, stored("sums", table.sums))


def test_rows_past_entry_two_to_the_31(graph: Graph, far: tuple[Graph, PickTable]) -> None:
    shifted, table = far
    others = np.arange(1, NODES)
    assert np.array_equal(PickTable.of(graph).draw(others, 5, KEY), table.draw(others, 5, KEY))
    for narrow, wide in zip(
        draw_neighbours(graph, others, 3, KEY), draw_neighbours(shifted, others, 3, KEY), strict=True
    ):
        assert np.array_equal(narrow, wide)
    assert np.array_equal(walk(graph, others, 6, KEY), walk(shifted, others, 6, KEY))
    assert np.array_equal(visited(graph, others, 5, 4, KEY), visited(shifted, others, 5, 4, KEY))
    picks = np.arange(1, 41).reshape(10, 4)
    assert np.array_equal(induce(graph, picks), induce(shifted, picks))
    near_part, far_part = subgraph(graph, np.arange(1, 30)), subgraph(shifted, np.arange(1, 30))
    assert np.array_equal(near_part.indices, far_part.indices)
    assert np.array_equal(np.where(near_part.entries < 0, -1, near_part.entries + FAR), far_part.entries)
    means = [np.zeros((NODES, 7), np.float32) for _ in range(2)]
    for each, out in zip((graph, shifted), means, strict=True):
        aggregate._neighbour_mean(each.indptr, each.indices, _x(), True, out, 1, NODES)
    assert np.array_equal(*means)


@pytest.mark.parametrize("num_nodes", [10**6, 10**12])
def test_batches_of_large_graphs_are_relabelled(num_nodes: int) -> None:
    rng = np.random.default_rng(0)
    receivers = rng.choice(10**6, 50, replace=False)
    senders = rng.choice(np.concatenate([receivers, rng.integers(0, 10**6, 100)]), 400)
    indptr = np.arange(0, 401, 8)
    block, nodes = relabel.block_between(receivers, indptr, senders, num_nodes)
    assert np.array_equal(nodes[:50], receivers)
    assert np.unique(nodes).size == nodes.size
    assert np.array_equal(nodes[block.indices.numpy()], senders)
    seen = dict.fromkeys([*receivers.tolist(), *senders.tolist()])
    assert nodes.tolist() == list(seen)
    assert relabel.distinct(senders, num_nodes)[0].tolist() == list(dict.fromkeys(senders.tolist()))
