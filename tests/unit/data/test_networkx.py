import networkx
import numpy as np
import pytest

from mggcn.data._dataset import Dataset
from mggcn.errors import DataWarning, InputError


def _chain(kind: type = networkx.Graph, n: int = 10) -> networkx.Graph:
    """Nodes a, b, … in a line, with an age, an embedding and a class."""
    graph = kind()
    for node in range(n):
        graph.add_node(chr(97 + node), age=20 + node, vector=[0.5 * node, 1.0], label="red" if node % 2 else "blue")
    graph.add_edges_from((chr(97 + node), chr(98 + node)) for node in range(n - 1))
    return graph


def test_attributes_become_features_labels_and_split() -> None:
    graph = _chain()
    for key, part in zip("abcdef", ["train", "train", "val", "val", "test", "test"], strict=True):
        graph.nodes[key]["split"] = part
    del graph.nodes["j"]["label"]
    data = Dataset.from_networkx(graph, name="mine")
    assert (data.name, data.feature_names, data.classes) == ("mine", ("age", "vector_0", "vector_1"), ("blue", "red"))
    assert data.x[3].tolist() == [23, 1.5, 1]
    assert data.y.tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0, -1]
    assert {part: nodes.tolist() for part, nodes in data.split.parts().items()} == {
        "train": [0, 1],
        "val": [2, 3],
        "test": [4, 5],
    }
    assert data.ids_of([0, 9]).tolist() == ["a", "j"]
    assert data.graph.row(1).tolist() == [0, 2]
    assert (data.source, data.notes) == ("networkx graph", ())


def test_named_attributes() -> None:
    graph = _chain()
    networkx.set_node_attributes(graph, {key: number % 3 for number, key in enumerate(graph)}, "club")
    data = Dataset.from_networkx(graph, features=["vector", "age"], label="club", seed=4)
    assert data.feature_names == ("vector_0", "vector_1", "age")
    assert data.classes == ("0", "1", "2")
    assert data.source == "networkx graph; 60/20/20 split of seed 4"
    assert Dataset.from_networkx(graph, features=["age"], seed=None).split is None


def test_directions() -> None:
    graph = _chain(networkx.DiGraph)
    assert Dataset.from_networkx(graph, direction="in").graph.row(1).tolist() == [0]
    assert Dataset.from_networkx(graph, direction="out").graph.row(1).tolist() == [2]
    assert Dataset.from_networkx(graph, direction="both").graph.row(1).tolist() == [0, 2]
    for direction in ("in", "directed"):
        with pytest.raises(InputError, match=f"mine: direction '{direction}' needs a DiGraph"):
            Dataset.from_networkx(_chain(), name="mine", direction=direction)


@pytest.mark.parametrize("kind", [networkx.MultiGraph, networkx.MultiDiGraph])
def test_parallel_edges_are_counted_and_edge_attributes_reported(kind: type) -> None:
    graph = _chain(kind)
    graph.add_edge("a", "b", cost=2.5, since=1999)
    graph.add_edge("c", "c")
    with pytest.warns(DataWarning, match="mine: edge attributes are not used") as caught:
        data = Dataset.from_networkx(graph, name="mine", direction="both")
    assert [warning.filename for warning in caught] == [__file__]
    assert data.notes == (
        "edge attributes are not used: ignored cost, since of the graph",
        "1 self-loop and 1 duplicate edge removed",
    )
    assert data.graph.num_edges == 9
    networkx.set_edge_attributes(graph, 1, "weight")
    with pytest.warns(DataWarning, match="mine: edge attributes are not used: ignored cost, since of the graph"):
        ones = Dataset.from_networkx(graph, name="mine", direction="both")
    assert (ones.digest, ones.notes) == (data.digest, data.notes)


def test_weights_of_parallel_edges_are_added() -> None:
    graph = _chain(networkx.MultiGraph)
    networkx.set_edge_attributes(graph, 1.5, "weight")
    graph.add_edge("b", "a", weight=2)
    graph.add_edge("a", "c", weight=0)
    data = Dataset.from_networkx(graph)
    assert data.graph.neighbour_weights(0, 2).tolist() == [3.5, 3.5, 1.5]
    assert data.notes == (
        "weights of edges: column 'weight' of the graph; weights=False leaves them out",
        "1 edge of weight 0 removed",
        "1 parallel edge joined, weights added",
    )
    without = Dataset.from_networkx(graph, weights=False)
    assert (without.graph.relations, without.notes) == (None, ("1 duplicate edge removed",))
    assert without.graph.row(0).tolist() == [1, 2]


def test_weights_and_types_of_other_names_and_directions() -> None:
    graph = _chain(networkx.MultiDiGraph, 3)
    networkx.set_edge_attributes(graph, {("a", "b", 0): 2, ("b", "c", 0): 3}, "amount")
    networkx.set_edge_attributes(graph, {("a", "b", 0): "pays", ("b", "c", 0): "owns"}, "kind")
    graph.add_edge("a", "b", kind="owns", amount=4)
    options = {"weight": "amount", "edge_type": "kind", "direction": "directed", "seed": None}
    data = Dataset.from_networkx(graph, **options)
    assert data.graph.schema.relations == ("owns in", "owns out", "pays in", "pays out")
    row = data.graph.relations_of(1)
    assert (row.indices.tolist(), row.number.tolist(), row.weight.tolist()) == ([0, 0, 2], [0, 2, 1], [4, 2, 3])


def test_attributes_are_read_like_the_columns_of_a_table() -> None:
    graph = _chain()
    for number, key in enumerate(graph):
        graph.nodes[key].update(town="Bonn" if number % 3 else "Köln", member=number < 5)
    del graph.nodes["c"]["age"]
    with pytest.warns(DataWarning, match="mine: empty cells, marked in a feature each, .*: 'age'"):
        data = Dataset.from_networkx(graph, name="mine", features=["age", "town", "member"], seed=None)
    assert data.feature_names == ("age", "age is empty", "town=Bonn", "town=Köln", "member")
    ages = [20.0 + number for number in range(10) if number != 2]
    assert data.x[2].tolist() == pytest.approx([np.mean(ages), 1, 1, 0, 1])


def test_keys_of_any_type_are_ids() -> None:
    def ids(*keys: object) -> list | None:
        graph = networkx.Graph()
        graph.add_nodes_from(keys, age=1)
        found = Dataset.from_networkx(graph).node_ids
        return None if found is None else found.tolist()

    assert ids(0, 1, 2) is None
    assert ids(1, 0, 2) == [1, 0, 2]
    assert ids((0, 1), "b") == ["(0, 1)", "b"]
    assert ids(2**70, -5) == [str(2**70), "-5"]
    with pytest.raises(InputError, match=r"networkx: node '1': \(key\) '1' is listed twice"):
        ids(1, "1")


def test_labels_of_any_type_are_class_names() -> None:
    def classes(*labels: object) -> tuple[tuple[str, ...], list[int]]:
        graph = networkx.Graph()
        graph.add_nodes_from((node, {"age": 1, "label": label}) for node, label in enumerate(labels))
        data = Dataset.from_networkx(graph, seed=None)
        return data.classes, data.y.tolist()

    assert classes(10, 2, None, np.int64(2)) == (("2", "10"), [1, 0, -1, 0])
    assert classes(1.0, float("nan"), 0.0) == (("0", "1"), [1, -1, 0])
    assert classes(-1, 1) == (("-1", "1"), [0, 1])
    assert classes(True, False) == (("false", "true"), [1, 0])
    with pytest.warns(DataWarning, match="networkx: the label -1 is a class; leave it empty where there is no label"):
        assert classes(-1, 0, 1)[0] == ("-1", "0", "1")
    with pytest.raises(InputError, match=r"networkx: node 1: column 'label': \[0, 1\] looks like several labels"):
        classes(0, [0, 1])


def test_nodes_without_attributes_get_structural_features() -> None:
    graph = networkx.path_graph(4)
    data = Dataset.from_networkx(graph)
    assert data.feature_names[0] == "log degree"
    assert data.x[:, 0].tolist() == pytest.approx(np.log1p([1, 2, 2, 1]))


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"age": "old"}, {"features": ["age"]}, "mine: node 'b': column 'age': 'old' is not a number"),
        ({"vector": [1.0]}, {"features": ["vector"]}, r"mine: vector of node 'b' is \[1.0\], not a list of 2 numbers"),
        ({"vector": 3}, {"features": ["vector"]}, "mine: vector of node 'b' is 3, not a list of 2 numbers"),
        ({}, {"features": ["agee"]}, "mine: features: 'agee' is not one of the columns 'age', 'vector_0', 'vector_1'"),
        ({}, {"label": "clubs"}, r"mine: nodes: column 'clubs' is missing \(it has '\(key\)', 'age', "),
        ({"split": "training"}, {}, "mine: node 'b': column 'split': 'training' is not one of train, val, test"),
        ({"split": "train", "label": None}, {}, "mine: nodes: node 'b' is in split train but has no label"),
        ({}, {"features": ["age", "age"]}, "mine: features: 'age' is there twice"),
        ({"vector_0": 4}, {}, "mine: two features are called 'vector_0'"),
        ({3: 4}, {}, "mine: node attribute 3: its name must be text"),
    ],
)
def test_bad_graphs_are_one_line(change: dict, options: dict, message: str) -> None:
    graph = _chain()
    graph.nodes["b"].update(change)
    with pytest.raises(InputError, match=f"^{message}") as caught:
        Dataset.from_networkx(graph, name="mine", **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (
            {"weight": -2},
            {},
            r"mine: edge \('a', 'b'\): column 'weight': -2 is less than 0; weights=False reads no weig",
        ),
        ({"weight": float("inf")}, {}, r"mine: edge \('a', 'b'\): column 'weight': inf is not a finite 32-bit number"),
        ({"weight": float("nan")}, {}, r"mine: edge \('a', 'b'\): column 'weight' is empty; weights=False reads no "),
        ({"weight": "much"}, {}, r"mine: edge \('a', 'b'\): column 'weight': 'much' is not a number"),
        (
            {"since": 1},
            {"weight": "since"},
            r"mine: edge \('b', 'c'\): column 'since' is empty; weights=False reads no ",
        ),
        ({}, {"weight": "cost"}, r"mine: the graph: column 'cost' is missing \(it has "),
        ({"kind": "pays"}, {"edge_type": "kind"}, r"mine: edge \('b', 'c'\): column 'kind' is empty"),
        ({}, {"edge_type": "kind"}, r"mine: the graph: column 'kind' is missing \(it has "),
        ({}, {"edge_type": "weight"}, r"mine: the graph: column 'weight' is missing \(it has "),
    ],
)
def test_bad_edges_are_one_line(change: dict, options: dict, message: str) -> None:
    graph = _chain()
    if "weight" in change:
        networkx.set_edge_attributes(graph, 2, "weight")
    graph.edges["a", "b"].update(change)
    with pytest.raises(InputError, match=f"^{message}") as caught:
        Dataset.from_networkx(graph, name="mine", **options)
    assert "\n" not in str(caught.value)


def test_more_types_than_a_graph_can_have() -> None:
    graph = networkx.path_graph(257)
    networkx.set_edge_attributes(graph, {edge: f"kind {number}" for number, edge in enumerate(graph.edges)}, "kind")
    with pytest.raises(
        InputError, match=r"^networkx: edge \(255, 256\): column 'kind': 'kind 255' is one of more than "
    ):
        Dataset.from_networkx(graph, edge_type="kind")


def test_other_objects() -> None:
    with pytest.raises(InputError, match=r"^networkx: nodes: no nodes$"):
        Dataset.from_networkx(networkx.Graph())
    with pytest.raises(InputError, match=r"^from_networkx takes a graph of NetworkX, not dict: use "):
        Dataset.from_networkx({"a": ["b"]})
