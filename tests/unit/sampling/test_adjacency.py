import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from mggcn.data._dataset import Dataset
from mggcn.sampling.adjacency import propagated, propagation


@pytest.mark.parametrize("kind", ["symmetric", "row"])
def test_the_factors_are_those_of_the_equations(small: Dataset, kind: str) -> None:
    graph, n = small.graph, small.num_nodes
    loops = np.eye(n)
    for v in range(n):
        loops[v, graph.indices[graph.indptr[v] : graph.indptr[v + 1]]] = 1
    degree = loops.sum(axis=1)
    wanted = loops / degree[:, None] if kind == "row" else loops / np.sqrt(np.outer(degree, degree))
    assert np.allclose(propagation(graph, kind).toarray(), wanted, rtol=1e-6)


@pytest.mark.parametrize("threads", [1, 3])
def test_dense_rows_are_multiplied_on_any_number_of_threads(threads: int) -> None:
    rng = np.random.default_rng(0)
    adjacency = csr_array(random_array((2_000, 2_000), density=0.01, rng=rng, dtype=np.float32))
    x = rng.normal(size=(2_000, 7)).astype(np.float32)
    found = propagated(adjacency, x, threads)
    assert np.allclose(found, adjacency.toarray().astype(float) @ x, atol=1e-5)
    assert np.array_equal(found, propagated(adjacency, np.asfortranarray(x), 1)), "bit for bit"


def test_sparse_rows_stay_sparse(small: Dataset) -> None:
    adjacency, x = propagation(small.graph), csr_array(np.eye(small.num_nodes, 4, dtype=np.float32))
    found = propagated(adjacency, x)
    assert isinstance(found, csr_array)
    assert np.allclose(found.toarray(), adjacency.toarray()[:, :4])
