import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mggcn.graph import Graph
from mggcn.kernels.induce import comparison, induce
from mggcn.kernels.pick import PickTable
from mggcn.keys import Key
from tests.gpu import GPU
from tests.strategies import graphs


@settings(max_examples=300, deadline=None)
@given(graph=graphs(), picks=st.integers(1, 6), threads=st.sampled_from([1, 2]))
def test_cpu_equals_reference(graph: Graph, picks: int, threads: int) -> None:
    members = PickTable.of(graph).draw(np.arange(graph.num_nodes), picks, Key.of(0))
    comparison.on_cpu(graph, members, threads)


def test_threads_cover_every_set() -> None:
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(rng.integers(0, 4_000, 20_000), rng.integers(0, 4_000, 20_000), 4_000)
    members = PickTable.of(graph).draw(np.arange(4_000), 4, Key.of(0))
    assert np.array_equal(induce(graph, members, threads=3), induce(graph, members, threads=1))
    comparison.on_cpu(graph, members[-50:])


@pytest.mark.parametrize("direction", ["both", "in"])
@pytest.mark.parametrize("picks", [1, 4])
def test_gpu_equals_reference(direction: str, picks: int) -> None:
    ends = np.random.default_rng(3).integers(0, 37, (2, 90))
    graph = Graph.from_edges(*ends, 40, direction=direction)
    members = PickTable.of(graph).draw(np.arange(40), picks, Key.of(0))
    comparison.on_gpu(graph, members, GPU)
