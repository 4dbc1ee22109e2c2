import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mggcn._io.arrays import shared_tensor
from mggcn.graph import Graph
from mggcn.kernels.aggregate import neighbour_mean, neighbour_mean_on
from tests.gpu import GPU
from tests.reference import aggregate as reference
from tests.strategies import graphs, weighted_graphs


def compare_on_cpu(graph: Graph, x: NDArray[np.float32], *, include_self: bool, sparse: bool = False) -> None:
    """Compare the means of dense features, or of the same features as a sparse matrix."""
    expected = reference.neighbour_mean(graph, x, include_self=include_self)
    means = neighbour_mean(graph, csr_array(x) if sparse else x, include_self=include_self)
    dense = means if isinstance(means, np.ndarray) else means.toarray()
    np.testing.assert_allclose(dense, expected, rtol=1e-6, atol=1e-7)


def compare_on_gpu(graph: Graph, x: NDArray[np.float32], *, include_self: bool, device: torch.device) -> None:
    """Compare the means of dense features."""
    expected = reference.neighbour_mean(graph, x, include_self=include_self)
    indptr, indices, rows = (shared_tensor(array).to(device) for array in (graph.indptr, graph.indices, x))
    means = neighbour_mean_on(indptr, indices, rows, include_self=include_self)
    np.testing.assert_allclose(means.cpu().numpy(), expected, rtol=1e-5, atol=1e-6)


@given(graph=graphs(), width=st.integers(1, 5), include_self=st.booleans(), sparse=st.booleans())
def test_equals_reference(graph: Graph, width: int, include_self: bool, sparse: bool) -> None:
    x = np.random.default_rng(0).normal(size=(graph.num_nodes, width)).astype(np.float32)
    x[np.random.default_rng(1).random(x.shape) < 0.5] = 0
    compare_on_cpu(graph, x, include_self=include_self, sparse=sparse)
    assert neighbour_mean(graph, csr_array(x) if sparse else x).dtype == np.float32


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing(threads: int) -> None:
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(rng.integers(0, 2_000, 30_000), rng.integers(0, 2_000, 30_000), 2_000)
    x = rng.normal(size=(2_000, 33)).astype(np.float32)
    assert np.array_equal(neighbour_mean(graph, x, threads=threads), neighbour_mean(graph, x, threads=1))


def test_a_hub_loses_no_precision() -> None:
    n = 100_001
    graph = Graph.from_edges(np.zeros(n - 1, np.int64), np.arange(1, n), n)
    x = np.full((n, 1), 0.1, np.float32)
    assert neighbour_mean(graph, x)[0, 0] == np.float32(0.1)


def test_isolated_nodes_get_zero_or_themselves() -> None:
    graph, x = Graph.from_edges([0], [1], 3), np.array([[1.0], [2.0], [3.0]], np.float32)
    assert neighbour_mean(graph, x)[:, 0].tolist() == [2.0, 1.0, 0.0]
    assert neighbour_mean(graph, x, include_self=True)[:, 0].tolist() == [1.5, 1.5, 3.0]


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("width", [1, 130])
def test_gpu_equals_reference(include_self: bool, width: int) -> None:
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(
        np.r_[rng.integers(0, 38, 60), np.zeros(30, int)], np.r_[rng.integers(0, 38, 60), 1:31], 40
    )
    x = rng.normal(size=(40, width)).astype(np.float32)
    compare_on_gpu(graph, x, include_self=include_self, device=GPU)


@given(graph=weighted_graphs(), width=st.integers(1, 5), include_self=st.booleans(), data=st.data())
def test_weighted_means_over_relations_equal_the_reference(
    graph: Graph, width: int, include_self: bool, data: st.DataObject
) -> None:
    numbers = st.sets(st.sampled_from(range(len(graph.schema.relations))), min_size=1)
    relations = data.draw(st.none() | numbers.map(sorted))
    if graph.relations is not None and graph.relations.number is None:
        relations = None
    x = np.random.default_rng(0).normal(size=(graph.num_nodes, width)).astype(np.float32)
    options = {"include_self": include_self, "relations": relations}
    expected = reference.neighbour_mean(graph, x, **options)
    np.testing.assert_allclose(neighbour_mean(graph, x, **options), expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(neighbour_mean(graph, csr_array(x), **options).toarray(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("include_self", [False, True])
def test_weighted_means_on_a_gpu_equal_the_reference(include_self: bool) -> None:
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(*rng.integers(0, 40, (2, 300)), 40, direction="in", weight=rng.lognormal(size=300))
    x = rng.normal(size=(40, 150)).astype(np.float32)
    arrays = (graph.indptr, graph.indices, x, graph.neighbour_weights())
    means = neighbour_mean_on(*(shared_tensor(array).to(GPU) for array in arrays), include_self=include_self)
    expected = reference.neighbour_mean(graph, x, include_self=include_self)
    np.testing.assert_allclose(means.cpu().numpy(), expected, rtol=1e-5, atol=1e-6)
