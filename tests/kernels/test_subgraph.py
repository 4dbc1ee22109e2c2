import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mggcn.graph import Graph
from mggcn.kernels._compiled import Ints
from mggcn.kernels.relabel import subgraph
from tests.reference import subgraph as reference
from tests.strategies import graphs


def compare_on_cpu(graph: Graph, nodes: Ints) -> None:
    """Compare the sub-graph of distinct nodes."""
    part = subgraph(graph, nodes)
    for array, expected in zip(
        (part.indptr, part.indices, part.entries), reference.subgraph(graph, nodes.tolist()), strict=True
    ):
        np.testing.assert_array_equal(array, expected)


@given(graph=graphs(), data=st.data())
def test_cpu_equals_reference(graph: Graph, data: st.DataObject) -> None:
    nodes = data.draw(st.lists(st.integers(0, graph.num_nodes - 1), unique=True))
    compare_on_cpu(graph, np.array(nodes, np.int64))


def test_few_of_many_nodes_are_found_in_a_hash_table() -> None:
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(rng.integers(0, 900, 9000), rng.integers(0, 900, 9000), 900)
    compare_on_cpu(graph, rng.choice(900, 40, replace=False))


def test_all_nodes_give_the_graph_with_loops() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], 4)
    found = subgraph(graph, np.arange(4))
    assert found.indptr.tolist() == [0, 3, 6, 9, 10]
    assert found.indices.tolist() == [0, 1, 2, 1, 0, 2, 2, 0, 1, 3]
    assert found.entries.tolist() == [-1, 0, 1, -1, 2, 3, -1, 4, 5, -1]
