"""Directions, weights and types of edges in a graph, against dictionaries of edges."""

import pickle
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mggcn.errors import InputError
from mggcn.graph import EdgeSchema, Graph
from tests.strategies import weighted_graphs

Edge = tuple[int, int, float, int]
NODES = 8

edge_lists = st.lists(
    st.tuples(
        st.integers(0, NODES - 1), st.integers(0, NODES - 1), st.sampled_from([0, 1, 2, 0.25, 3]), st.integers(0, 2)
    ),
    max_size=24,
)


def rows_of(edges: list[Edge], direction: str) -> dict[int, dict[tuple[int, int], float]]:
    """The weight of each (neighbour, relation) of every node."""
    given_edges: dict[tuple[int, int, int], float] = defaultdict(float)
    for source, target, weight, kind in edges:
        if source != target and weight:
            given_edges[source, target, kind] += weight
    both_ways = all(given_edges.get((t, s, k)) == weight for (s, t, k), weight in given_edges.items())
    rows: dict[int, dict[tuple[int, int], float]] = {node: defaultdict(float) for node in range(NODES)}
    for (source, target, kind), weight in given_edges.items():
        if direction == "directed":
            rows[target][source, 2 * kind] += weight
            rows[source][target, 2 * kind + 1] += weight
        elif direction == "both":
            rows[source][target, kind] += weight / (1 + both_ways)
            rows[target][source, kind] += weight / (1 + both_ways)
        elif direction == "in":
            rows[target][source, kind] += weight
        else:
            rows[source][target, kind] += weight
    return rows


def built(edges: list[Edge], direction: str, **options: object) -> Graph:
    source, target, weight, kind = np.array(edges, np.float64).reshape(-1, 4).T
    ends, kinds = (source.astype(np.int64), target.astype(np.int64)), kind.astype(np.int64)
    arguments = {"weight": weight, "edge_type": kinds, "types": ("a", "b", "c")} | options
    return Graph.from_edges(*ends, NODES, direction=direction, **arguments)


def rows_in(graph: Graph) -> dict[int, dict[tuple[int, int], float]]:
    rows = {}
    for node in range(graph.num_nodes):
        found = graph.relations_of(node)
        numbers = np.zeros(found.indices.size, np.int64) if found.number is None else found.number
        pairs = zip(found.indices.tolist(), numbers.tolist(), strict=True)
        rows[node] = dict(zip(pairs, found.weights().tolist(), strict=True))
    return rows


@given(edges=edge_lists)
@pytest.mark.parametrize("direction", ["both", "in", "out", "directed"])
def test_rows_hold_the_edges(edges: list[Edge], direction: str) -> None:
    graph, expected = built(edges, direction), rows_of(edges, direction)
    assert rows_in(graph) == expected
    neighbours = [sorted({neighbour for neighbour, _ in expected[node]}) for node in range(NODES)]
    assert [graph.row(node).tolist() for node in range(NODES)] == neighbours
    assert graph.schema == EdgeSchema(direction == "directed", weighted=True, types=("a", "b", "c"))


@given(edges=edge_lists, order=st.randoms())
@pytest.mark.parametrize("direction", ["both", "directed"])
def test_the_order_of_edges_does_not_matter(edges: list[Edge], order: object, direction: str) -> None:
    tenths = [(source, target, weight / 10, kind) for source, target, weight, kind in edges]
    shuffled = order.sample(tenths, len(tenths))
    assert built(shuffled, direction).checksums == built(tenths, direction).checksums


@given(graph=weighted_graphs())
def test_what_is_built_passes_the_checks(graph: Graph) -> None:
    arrays = {name: array.copy() for name, array in graph.arrays().items()}
    again = Graph.from_arrays(arrays, graph.direction, graph.types)
    assert again.checksums == graph.checksums
    again.check_bounds()
    assert pickle.loads(pickle.dumps(graph)).checksums == graph.checksums  # noqa: S301


@given(graph=weighted_graphs(), data=st.data())
def test_subgraphs_hold_the_edges_between_members(graph: Graph, data: st.DataObject) -> None:
    members = data.draw(st.sets(st.integers(0, graph.num_nodes - 1)))
    expected = {
        node: {key: weight for key, weight in row.items() if node in members and key[0] in members}
        for node, row in rows_in(graph).items()
    }
    part = graph.subgraph(sorted(members))
    assert rows_in(part) == expected
    assert [part.row(node).tolist() for node in expected] == [sorted({n for n, _ in row}) for row in expected.values()]
    Graph.from_arrays(dict(part.arrays()), part.direction, part.types)


@given(graph=weighted_graphs(directions=("directed",)))
@pytest.mark.parametrize("end", ["in", "out"])
def test_edges_towards_one_end(graph: Graph, end: str) -> None:
    way = ("in", "out").index(end)
    expected = {
        node: {(neighbour, number // 2): weight for (neighbour, number), weight in row.items() if number % 2 == way}
        for node, row in rows_in(graph).items()
    }
    part = graph.towards(end)
    assert part.direction == end
    assert rows_in(part) == expected
    Graph.from_arrays(dict(part.arrays()), part.direction, part.types)


def test_edges_towards_one_end_need_directions() -> None:
    with pytest.raises(InputError, match="edges in of nodes need a directed graph, but this one is 'both'"):
        Graph.from_edges([0], [1], 2).towards("in")


@given(graph=weighted_graphs(), wanted=st.sets(st.integers(0, 5)))
def test_matrices_hold_the_sums_of_relations(graph: Graph, wanted: set[int]) -> None:
    numbers = sorted(number for number in wanted if number < len(graph.schema.relations))
    for chosen in (None, numbers):
        expected = np.zeros((graph.num_nodes, graph.num_nodes))
        for node, row in rows_in(graph).items():
            for (neighbour, number), weight in row.items():
                if chosen is None or number in chosen or graph.relations is None or graph.relations.number is None:
                    expected[node, neighbour] += weight
        np.testing.assert_allclose(graph.matrix(chosen).toarray(), expected, rtol=1e-6)


@pytest.mark.parametrize("direction", ["both", "directed"])
def test_weights_of_neighbours_are_symmetric_to_the_last_bit(direction: str) -> None:
    rng = np.random.default_rng(0)
    ends, weight, kind = rng.integers(0, 12, (2, 9000)), rng.lognormal(sigma=3, size=9000), rng.integers(0, 40, 9000)
    matrix = Graph.from_edges(*ends, 12, direction=direction, weight=weight, edge_type=kind).matrix()
    assert np.array_equal(matrix.toarray(), matrix.T.toarray())


@pytest.mark.parametrize("direction", ["both", "in", "out"])
def test_weights_of_one_change_no_row(direction: str) -> None:
    ends = np.random.default_rng(0).integers(0, 30, (2, 60))
    distinct = np.unique(ends, axis=1)
    plain = Graph.from_edges(*distinct, 30, direction=direction)
    ones = Graph.from_edges(*distinct, 30, direction=direction, weight=np.ones(distinct.shape[1]))
    assert np.array_equal(plain.indptr, ones.indptr)
    assert np.array_equal(plain.indices, ones.indices)
    directed = Graph.from_edges(*distinct, 30, direction="directed")
    if direction == "both":
        assert np.array_equal(plain.indices, directed.indices)
        assert np.array_equal(plain.degrees, directed.degrees)


def test_whole_number_weights_are_repeated_edges() -> None:
    once = Graph.from_edges([0, 1, 2], [1, 2, 3], 4, direction="directed", weight=[3, 1, 2])
    repeated, changes = Graph.from_edges_counted(
        [0, 0, 0, 1, 2, 2], [1, 1, 1, 2, 3, 3], 4, direction="directed", weight=np.ones(6)
    )
    assert rows_in(once) == rows_in(repeated)
    assert changes.duplicates == 3


def test_changes_are_counted() -> None:
    source, target, weight = [0, 0, 1, 2, 3, 0], [1, 1, 0, 2, 0, 2], [1, 2, 5, 4, 0, 1]
    graph, changes = Graph.from_edges_counted(source, target, 4, weight=weight)
    assert changes._asdict() == {"loops": 1, "duplicates": 1, "reverses": 1, "zeros": 1, "sums": 1}
    assert rows_in(graph)[0] == {(1, 0): 8.0, (2, 0): 1.0}
    _, changes = Graph.from_edges_counted(source, target, 4, weight=weight, direction="directed")
    assert changes._asdict() == {"loops": 1, "duplicates": 1, "reverses": 0, "zeros": 1, "sums": 0}


def test_a_symmetric_matrix_of_weights_keeps_them() -> None:
    graph, changes = Graph.from_edges_counted([0, 1, 1, 2], [1, 0, 2, 1], 3, weight=[0.1, 0.1, 7, 7])
    assert rows_in(graph)[1] == {(0, 0): float(np.float32(0.1)), (2, 0): 7.0}
    assert (changes.reverses, changes.sums) == (0, 0)
    _, changes = Graph.from_edges_counted([0, 1, 1, 2], [1, 0, 2, 1], 3, weight=[0.1, 0.2, 7, 7])
    assert (changes.reverses, changes.sums) == (0, 2)


def test_numbers_of_edges() -> None:
    kinds = {"edge_type": [0, 1, 0], "types": ["pays", "knows"]}
    assert Graph.from_edges([0, 0, 1], [1, 1, 0], 2, **kinds).num_edges == 2
    directed = Graph.from_edges([0, 0, 1], [1, 1, 0], 2, direction="directed", **kinds)
    assert directed.num_edges == 3
    assert directed.degrees.tolist() == [1, 1]
    assert directed.schema.relations == ("pays in", "pays out", "knows in", "knows out")


@given(edges=edge_lists)
@pytest.mark.parametrize("direction", ["both", "in", "out", "directed"])
def test_counts_of_types_and_sums_of_weights(edges: list[Edge], direction: str) -> None:
    graph, share = built(edges, direction), 1 if direction in ("in", "out") else 0.5
    entries = [(key[1], weight) for row in rows_of(edges, direction).values() for key, weight in row.items()]
    numbers = [number // 2 if direction == "directed" else number for number, _ in entries]
    assert graph.type_counts == [numbers.count(kind) * share for kind in range(3)]
    weights = [weight for _, weight in entries]
    assert graph.weight_range == ((sum(weights) * share, min(weights), max(weights)) if weights else None)
    assert Graph.from_edges([0], [1], 2).weight_range is None


def test_relations_are_grouped() -> None:
    schema = EdgeSchema(directed=True, types=("pays", "knows"))
    assert schema.groups("none") == {"": (0, 1, 2, 3)}
    assert schema.groups("direction") == {"in": (0, 2), "out": (1, 3)}
    assert schema.groups("type") == {"pays": (0, 1), "knows": (2, 3)}
    assert list(schema.groups("both").values()) == [(0,), (1,), (2,), (3,)]
    assert EdgeSchema(directed=True).groups("both") == {"in": (0,), "out": (1,)}
    assert EdgeSchema(types=("pays",)).groups("both") == {"pays": (0,)}
    assert EdgeSchema().groups("both") == {"": (0,)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": [1, -2]}, "weight: -2 of edge 1 is negative"),
        ({"weight": [np.nan, 1]}, "weight: nan of edge 0 is missing"),
        ({"weight": [1, np.inf]}, "weight: inf of edge 1 is not finite in float32"),
        ({"weight": [1, 1e39]}, r"weight: 1e\+39 of edge 1 is not finite in float32"),
        ({"weight": [1, 1e-50]}, "weight: 1e-50 of edge 1 is 0 in float32"),
        ({"weight": [1]}, r"weight: shape \(1,\), not one weight for each of 2 edges"),
        ({"weight": ["a", "b"]}, "weight: must be numbers, not <U1"),
        ({"edge_type": [0, -1], "types": ["a"]}, "edge_type: -1 of edge 1 is out of range for 1 types"),
        ({"edge_type": [0, 1], "types": ["a"]}, "edge_type: 1 of edge 1 is out of range for 1 types"),
        ({"edge_type": [0, 255]}, "edge_type: 256 types of edges, more than 255"),
        ({"edge_type": [0.5, 1]}, "edge_type: float64 of shape"),
        ({"edge_type": [0, 1], "types": ["a", "a"]}, "types: 'a' occurs twice"),
        ({"edge_type": [0, 1], "types": ["a", ""]}, "types: '' is not the name of a type of edges"),
        ({"types": ["a"]}, "types: names of types of edges, but no edge_type"),
        ({"direction": "up"}, "direction: 'up' is not one of both, in, out, directed"),
    ],
)
def test_bad_edges(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Graph.from_edges([0, 1], [1, 2], 3, **options)


def test_sums_of_weights_that_float32_cannot_hold() -> None:
    with pytest.raises(InputError, match=r"weight: those between nodes 0 and 1 add up to 6e\+38"):
        Graph.from_edges([0, 0], [1, 1], 2, weight=[3e38, 3e38])


@pytest.mark.parametrize(
    ("name", "position", "value", "message"),
    [
        ("relation_weight", 1, -1, "weight -1.0 at position 1 is not above 0 and finite"),
        ("relation_weight", 1, np.nan, "weight nan at position 1"),
        ("relation_weight", 1, 9, "not the same in both rows of an edge"),
        ("relation_number", 1, 9, "relation 9 at position 1 is out of range for 4"),
        ("relation_number", 0, 3, "not the same in both rows of an edge"),
        ("relation_indices", 0, 9, "index 9 at position 0 is out of range for 3 nodes"),
        ("relation_indices", 0, 2, "not sorted or repeat one|not to their neighbours"),
        ("relation_indptr", 1, 2, "not sorted or repeat one|not to their neighbours"),
    ],
)
def test_bad_relations(name: str, position: int, value: float, message: str) -> None:
    graph = Graph.from_edges(
        [0, 1], [1, 2], 3, direction="directed", weight=[1, 2], edge_type=[0, 1], types=("pays", "knows")
    )
    arrays = {key: array.copy() for key, array in graph.arrays().items()}
    arrays[name][position] = value
    with pytest.raises(InputError, match=message):
        Graph.from_arrays(arrays, "directed", graph.types)


def test_graphs_with_directions_or_types_need_relations() -> None:
    plain = Graph.from_edges([0], [1], 2)
    for changes in ({"direction": "directed"}, {"types": ("a",)}):
        with pytest.raises(InputError, match="one with directions or types of edges needs relations"):
            replace(plain, **changes)
    weighted = Graph.from_edges([0], [1], 2, weight=[2])
    with pytest.raises(InputError, match="relations of a directed graph, or of several types, need numbers"):
        replace(weighted, direction="directed")
