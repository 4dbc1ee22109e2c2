import numpy as np
import pytest
import torch
from hypothesis import given

from mggcn.errors import InputError
from mggcn.graph import Graph, node_numbers
from mggcn.graph._checks import check_graph
from tests.strategies import graphs


def test_edges_are_made_symmetric_sorted_and_simple() -> None:
    graph = Graph.from_edges([3, 0, 0, 2, 1, 1], [0, 3, 3, 2, 0, 0], 5)
    assert [graph.row(v).tolist() for v in range(5)] == [[1, 3], [0], [], [0], []]
    assert (graph.num_nodes, graph.num_edges, graph.num_stored) == (5, 2, 4)
    assert graph.indices.dtype == np.int32
    assert graph.degrees.tolist() == [2, 1, 0, 1, 0]


def test_direction_is_kept_on_request() -> None:
    inward = Graph.from_edges([0, 1, 0], [2, 2, 1], 3, direction="in")
    assert [inward.row(v).tolist() for v in range(3)] == [[], [0], [0, 1]]
    assert inward.degrees.tolist() == [2, 2, 2]
    assert inward.num_edges == 3


@given(graph=graphs())
def test_what_from_edges_builds_passes_the_check(graph: Graph) -> None:
    again = Graph(graph.indptr, graph.indices, graph.direction)
    back = Graph.from_edges(*graph.edges(), graph.num_nodes, direction="out")
    assert np.array_equal(back.indptr, again.indptr)
    assert np.array_equal(back.indices, again.indices)


def test_subgraph_keeps_numbers_and_inner_edges() -> None:
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], 5)
    part = graph.subgraph([0, 1, 3])
    for nodes in (np.isin(np.arange(graph.num_nodes), [0, 1, 3]), torch.tensor([0, 1, 3]), (3, 1, 0)):
        assert np.array_equal(graph.subgraph(nodes).indices, part.indices)
    assert [part.row(v).tolist() for v in range(5)] == [[1, 3], [0], [], [0], []]
    Graph(part.indptr, part.indices)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([1.0], "must be node numbers or a boolean mask, not float64"),
        (torch.ones(2, dtype=torch.bfloat16), r"Tensor is not an array \(.*\)"),
        (torch.ones(2, requires_grad=True), "must be node numbers or a boolean mask, not float32"),
        (["a"], "must be node numbers or a boolean mask, not <U1"),
        ([None], "must be node numbers or a boolean mask, not object"),
        ([[1], [1, 2]], r"list is not an array \(.*\)"),
        ({1, 2}, "must be node numbers or a boolean mask, not set"),
        (1.5, "must be node numbers or a boolean mask, not float"),
        (3, r"must be one-dimensional, not of shape \(\)"),
        (np.ones((5, 2), bool), r"must be one-dimensional, not of shape \(5, 2\)"),
        ([True, False], "the mask has 2 entries, but the graph has 5 nodes"),
        ([], None),
        (np.empty(0, bool), "the mask has 0 entries, but the graph has 5 nodes"),
        ([0, 5], "node 5 is out of range for 5 nodes"),
        (np.array([2**64 - 1], np.uint64), "node 18446744073709551615 is out of range for 5 nodes"),
        (torch.tensor([-1]), "node -1 is out of range for 5 nodes"),
        (
            torch.tensor([True, False, False, True, True]).long(),
            "5 values of 0 and 1 are a mask of integers; give a boolean mask",
        ),
        (np.zeros(5, np.uint8), "5 values of 0 and 1 are a mask of integers; give a boolean mask"),
    ],
)
def test_what_is_not_nodes(nodes: object, message: str | None) -> None:
    if message is None:
        assert node_numbers(nodes, 5).dtype == np.int64
        return
    with pytest.raises(InputError, match=f"^nodes: {message}$"):
        node_numbers(nodes, 5)


def test_nodes_may_be_listed_more_than_once() -> None:
    assert node_numbers([1, 0, 1, 0], 5).tolist() == [1, 0, 1, 0]
    assert node_numbers([1, 0, 1, 0, 2], 5).tolist() == [1, 0, 1, 0, 2]
    assert node_numbers([1, 0], 2).tolist() == [1, 0], "each of two nodes once"


def test_empty_graphs() -> None:
    assert Graph.from_edges([], [], 0).num_nodes == 0
    assert Graph.from_edges([], [], 3).degrees.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ([0, 5], [1, 1], "source 5 of edge 1 is out of range for 5 nodes"),
        ([0, 1], [1, -1], "target -1 of edge 1 is out of range"),
        ([0, 1], [1], "2 sources but 1 targets"),
        ([0.5], [1], "must hold integers"),
        ([[0]], [[1]], "one-dimensional"),
    ],
)
def test_bad_edges(source: list, target: list, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Graph.from_edges(source, target, 5)


@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        ([0, 1, 2], [1, 2], "index 2 at position 1 is out of range for 2 nodes"),
        ([0, 1, 2], [1, -1], "index -1"),
        ([0, 1, 3], [1, 0], "runs from 0 to 3"),
        ([0, 2, 1, 2], [1, 2], "falls at row 1"),
        ([0, 1, 2], [1, 1], "self-loop at node 1"),
        ([0, 2, 3, 4], [2, 1, 0, 0], "row 0 is not sorted"),
        ([0, 2, 3, 3], [1, 1, 0], "row 0 is not sorted or repeats"),
        ([0, 1, 1], [1], "not symmetric"),
        ([0, 1, 2, 3, 4], [1, 2, 3, 0], "not symmetric"),
    ],
)
def test_bad_rows(indptr: list, indices: list, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Graph(np.array(indptr), np.array(indices, np.int32))


def test_a_bad_row_is_seen_across_the_border_of_two_checks() -> None:
    with pytest.raises(InputError, match="row 0 is not sorted"):
        check_graph(np.array([0, 4, 4, 4, 4, 4]), np.array([1, 3, 2, 4], np.int32), "out", chunk=2)


def test_bad_types() -> None:
    with pytest.raises(InputError, match="vector of int64"):
        Graph(np.array([0.0, 0.0]), np.array([], np.int32))
    with pytest.raises(InputError, match="int32 or int64"):
        Graph(np.array([0, 0]), np.array([], np.float32))
    with pytest.raises(InputError, match="direction 'up'"):
        Graph(np.array([0, 0]), np.array([], np.int32), "up")


@pytest.mark.parametrize("direction", ["both", "in", "out"])
def test_from_edges_by_hand(direction: str) -> None:
    source, target = np.random.default_rng(0).integers(0, 30, (2, 200))
    rows = [set() for _ in range(30)]
    for u, v in zip(source.tolist(), target.tolist(), strict=True):
        if u != v and direction in ("both", "out"):
            rows[u].add(v)
        if u != v and direction in ("both", "in"):
            rows[v].add(u)
    graph = Graph.from_edges(source, target, 30, direction=direction)
    assert [graph.row(v).tolist() for v in range(30)] == [sorted(row) for row in rows]
    counted, (loops, duplicates, added, zeros, sums) = Graph.from_edges_counted(source, target, 30, direction=direction)
    assert np.array_equal(counted.indices, graph.indices)
    assert zeros == sums == 0
    pairs = list(zip(source.tolist(), target.tolist(), strict=True))
    assert loops == sum(u == v for u, v in pairs) > 0
    distinct = {(u, v) for u, v in pairs if u != v}
    assert duplicates == len(pairs) - loops - len(distinct) > 0
    assert added == (len({(v, u) for u, v in distinct} - distinct) if direction == "both" else 0)


def test_an_edge_repeated_many_times_stays() -> None:
    assert Graph.from_edges(np.zeros(512, np.int32), np.ones(512, np.int32), 2).num_edges == 1


def test_large_graphs_are_checked_for_symmetry_in_blocks() -> None:
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(rng.integers(0, 50, 300), rng.integers(0, 50, 300), 50)
    check_graph(graph.indptr, graph.indices, "both", chunk=16)
    directed = Graph.from_edges(rng.integers(0, 50, 300), rng.integers(0, 50, 300), 50, direction="out")
    with pytest.raises(InputError, match="graph: not symmetric"):
        check_graph(directed.indptr, directed.indices, "both", chunk=16)


@pytest.mark.parametrize("most", [1, 7, 1000])
def test_blocks_cover_the_rows(most: int) -> None:
    graph = Graph.from_edges(np.zeros(20, np.int64), np.arange(1, 21), 25)
    blocks = [*graph.row_blocks(most)]
    assert [row for start, stop in blocks for row in range(start, stop)] == list(range(25))
    sizes = [int(graph.indptr[stop] - graph.indptr[start]) for start, stop in blocks]
    assert all(size <= most or stop == start + 1 for size, (start, stop) in zip(sizes, blocks, strict=True))
