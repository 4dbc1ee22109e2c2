import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mggcn.graph import Graph
from mggcn.kernels._compiled import Ints
from mggcn.kernels.walk import fill_walks, visited
from mggcn.keys import Key
from tests.reference import saint_walk as reference
from tests.strategies import graphs


def compare_on_cpu(graph: Graph, pool: Ints, walks: int, length: int, key: Key) -> None:
    """Compare every step of the walks, and the set of nodes they visit."""
    expected = np.array(reference.walk(graph, pool.tolist(), walks, length, key))
    paths = np.empty((walks, 1 + length), np.int64)
    fill_walks(graph.indptr, graph.indices, pool, np.uint64(key.value), paths)
    np.testing.assert_array_equal(paths, expected)
    np.testing.assert_array_equal(visited(graph, pool, walks, length, key), np.unique(expected))


@given(graph=graphs(), walks=st.integers(1, 5), length=st.integers(0, 4), seed=st.integers(0, 2**64 - 1))
def test_cpu_equals_reference(graph: Graph, walks: int, length: int, seed: int) -> None:
    compare_on_cpu(graph, np.arange(0, graph.num_nodes, 2), walks, length, Key(seed))


def test_walks_are_uniform() -> None:
    star = Graph.from_edges([0, 0, 0, 0], [1, 2, 3, 4], 6)
    paths = np.array(reference.walk(star, [0, 5], 4_000, 1, Key.of(0)))
    assert abs((paths[:, 0] == 0).mean() - 1 / 2) < 0.03
    assert (paths[paths[:, 0] == 5, 1] == 5).all(), "a walk stays where there is no neighbour"
    ends = np.bincount(paths[paths[:, 0] == 0, 1], minlength=6)
    assert ends[[0, 5]].tolist() == [0, 0]
    assert np.abs(ends[1:5] / ends.sum() - 1 / 4).max() < 0.03
