import numpy as np
import pytest

from mggcn.datasets.adjacency import undirected
from mggcn.errors import InputError
from mggcn.graph import Graph


@pytest.mark.parametrize(("num_nodes", "num_edges"), [(1, 0), (1, 3), (5, 0), (7, 40), (300, 2000)])
def test_it_gives_the_graph_that_from_edges_gives(num_nodes: int, num_edges: int):
    source, target = np.random.default_rng(num_edges).integers(0, num_nodes, (2, num_edges))
    expected, found = Graph.from_edges(source, target, num_nodes), undirected(source, target, num_nodes)
    assert np.array_equal(found.indptr, expected.indptr)
    assert np.array_equal(found.indices, expected.indices)
    Graph(found.indptr, found.indices, "both")


def test_an_edge_repeated_many_times_stays():
    assert undirected(np.zeros(512, np.int32), np.ones(512, np.int32), 2).num_edges == 1


@pytest.mark.parametrize(
    ("ends", "told"), [(([0, 4], [1, 1]), "source 4 of edge 1"), (([0], [-1]), "target -1 of edge 0")]
)
def test_ends_out_of_range_are_told(ends, told):
    with pytest.raises(InputError, match=f"edges: {told} is out of range for 4 nodes"):
        undirected(*(np.array(end) for end in ends), 4)
