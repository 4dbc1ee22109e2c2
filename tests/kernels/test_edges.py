import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mggcn.graph import Graph
from mggcn.kernels.edges import arrivals, edge_data
from mggcn.kernels.pick import PickTable
from mggcn.keys import Key
from tests.reference import edges as reference
from tests.strategies import graphs, weighted_graphs


@given(graph=st.one_of(graphs(), weighted_graphs()), threads=st.sampled_from([1, 2]))
def test_edges_equal_the_reference(graph: Graph, threads: int) -> None:
    receivers, senders = np.indices((graph.num_nodes, graph.num_nodes), np.int32).reshape(2, -1)
    found = edge_data(graph, receivers, senders, threads=threads)
    expected = [reference.edge_data(graph, *pair) for pair in zip(receivers.tolist(), senders.tolist(), strict=True)]
    assert [*zip(found.weight, found.relation, strict=True)] == expected
    assert (found.weight.dtype, found.relation.dtype) == (np.float32, np.uint16)


@given(
    graph=st.one_of(graphs(), weighted_graphs()),
    picks=st.integers(1, 6),
    explore=st.sampled_from(["both", "breadth", "depth"]),
    by=st.sampled_from(["degree", "weight"]),
    threads=st.sampled_from([1, 2]),
)
def test_arrivals_equal_the_reference(graph: Graph, picks: int, explore: str, by: str, threads: int) -> None:
    drawn = PickTable.of(graph, by=by).draw(np.arange(graph.num_nodes), picks, Key.of(0), explore=explore)
    found = arrivals(graph, drawn, explore=explore, threads=threads)
    np.testing.assert_array_equal(found, reference.arrivals(graph, drawn, explore))


def test_the_heaviest_edge_gives_the_relation() -> None:
    graph = Graph.from_edges(
        [0, 1, 0, 2], [1, 0, 1, 0], 3, direction="directed", weight=[2, 5, 0.5, 7], edge_type=[0, 0, 1, 1]
    )
    assert graph.schema.relations == ("0 in", "0 out", "1 in", "1 out")
    weight, relation = edge_data(graph, np.array([0, 1, 2, 0, 1]), np.array([1, 0, 0, 0, 2]))
    assert weight.tolist() == [7.5, 7.5, 7, 1, 1]
    assert relation.tolist() == [0, 1, 3, 4, 4]


@pytest.mark.parametrize("weight", [None, "random"])
def test_threads_cover_every_pair(weight: str | None) -> None:
    rng = np.random.default_rng(0)
    ends, values = rng.integers(0, 4_000, (2, 20_000)), rng.random(20_000)
    graph = Graph.from_edges(*ends, 4_000, weight=None if weight is None else values)
    drawn = PickTable.of(graph).draw(np.arange(4_000), 4, Key.of(0))
    came_by = arrivals(graph, drawn, threads=3)
    assert np.array_equal(came_by, arrivals(graph, drawn, threads=1))
    pairs = np.take_along_axis(drawn, came_by, 1).ravel(), drawn.ravel()
    one, several = (edge_data(graph, *pairs, threads=threads) for threads in (1, 3))
    assert np.array_equal(one.weight, several.weight)
    assert np.array_equal(one.relation, several.relation)
    assert (one.relation.reshape(drawn.shape)[:, 1:][drawn[:, 1:] != drawn[:, :1]] == 0).all(), "picks have edges"
