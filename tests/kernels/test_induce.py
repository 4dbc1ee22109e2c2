from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from mggcn._io.arrays import shared_tensor
from mggcn.graph import Graph
from mggcn.kernels.pick import PickTable, induce, induce_on
from mggcn.keys import Key
from tests.gpu import GPU
from tests.reference import induce as reference
from tests.strategies import graphs


def compare_on_cpu(graph: Graph, members: NDArray[Any], threads: int | None = None) -> None:
    """Compare which of [b, s] members are neighbours."""
    np.testing.assert_array_equal(induce(graph, members, threads=threads), reference.induce(graph, members))


def compare_on_gpu(graph: Graph, members: NDArray[Any], device: torch.device) -> None:
    """Compare which of [b, s] members are neighbours."""
    arrays = (graph.indptr, graph.indices, members.T.copy())
    indptr, indices, sets = (shared_tensor(array).to(device) for array in arrays)
    out = induce_on(indptr, indices, graph.direction == "both", sets)
    expected = reference.induce(graph, members).transpose(1, 0, 2).reshape(-1, members.shape[1])
    np.testing.assert_array_equal(out.cpu().numpy(), expected)


@given(graph=graphs(), picks=st.integers(1, 6), threads=st.sampled_from([1, 2]))
def test_cpu_equals_reference(graph: Graph, picks: int, threads: int) -> None:
    members = PickTable.of(graph).draw(np.arange(graph.num_nodes), picks, Key.of(0))
    compare_on_cpu(graph, members, threads)


def test_threads_cover_every_set() -> None:
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(rng.integers(0, 4_000, 20_000), rng.integers(0, 4_000, 20_000), 4_000)
    members = PickTable.of(graph).draw(np.arange(4_000), 4, Key.of(0))
    assert np.array_equal(induce(graph, members, threads=3), induce(graph, members, threads=1))
    compare_on_cpu(graph, members[-50:])


@pytest.mark.parametrize("direction", ["both", "in"])
@pytest.mark.parametrize("picks", [1, 4])
def test_gpu_equals_reference(direction: str, picks: int) -> None:
    ends = np.random.default_rng(3).integers(0, 37, (2, 90))
    graph = Graph.from_edges(*ends, 40, direction=direction)
    members = PickTable.of(graph).draw(np.arange(40), picks, Key.of(0))
    compare_on_gpu(graph, members, GPU)
