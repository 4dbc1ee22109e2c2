import sys

import networkx
import numpy as np
import pytest

from mggcn.dataset import Dataset
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
    assert Dataset.from_networkx(graph).graph.row(1).tolist() == [0, 2]
    with pytest.raises(InputError, match="mine: direction 'in' needs a DiGraph"):
        Dataset.from_networkx(_chain(), name="mine", direction="in")


@pytest.mark.parametrize("kind", [networkx.MultiGraph, networkx.MultiDiGraph])
def test_parallel_edges_are_counted_and_edge_attributes_reported(kind: type) -> None:
    graph = _chain(kind)
    graph.add_edge("a", "b", weight=2.5, since=1999)
    graph.add_edge("c", "c")
    with pytest.warns(DataWarning, match="mine: edge weights and attributes are not used") as caught:
        data = Dataset.from_networkx(graph, name="mine")
    assert [warning.filename for warning in caught] == [__file__]
    assert data.notes == (
        "edge weights and attributes are not used: ignored since, weight of the graph",
        "1 self-loop and 1 duplicate edge removed",
    )
    assert data.graph.num_edges == 9


def test_attributes_that_are_no_numbers_are_left_out_with_a_warning() -> None:
    graph = _chain()
    networkx.set_node_attributes(graph, "x", "name")
    del graph.nodes["c"]["age"]
    note = "not all node attributes are features: age of node 'c' is missing; name of node 'a' is 'x', not a number"
    with pytest.warns(DataWarning, match=f"mine: {note}"):
        data = Dataset.from_networkx(graph, name="mine")
    assert (data.feature_names, data.notes) == (("vector_0", "vector_1"), (note,))


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
    with pytest.raises(InputError, match="networkx: node_ids: 1 stands for more than one node"):
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
    assert classes(True, False) == (("False", "True"), [1, 0])
    with pytest.warns(DataWarning, match="networkx: the label -1 is a class; remove it from nodes that have no label"):
        assert classes(-1, 0, 1)[0] == ("-1", "0", "1")
    with pytest.raises(InputError, match=r"networkx: label of node 1 is \[0, 1\], not the name or number of one class"):
        classes(0, [0, 1])


def test_nodes_without_attributes_get_structural_features() -> None:
    graph = networkx.path_graph(4)
    data = Dataset.from_networkx(graph)
    assert data.feature_names[0] == "log degree"
    assert data.x[:, 0].tolist() == pytest.approx(np.log1p([1, 2, 2, 1]))


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"age": "old"}, {"features": ["age"]}, "mine: age of node 'b' is 'old', not a number"),
        ({"age": float("nan")}, {"features": ["age"]}, "mine: age of node 'b' is nan, not a number"),
        ({"vector": [1.0]}, {"features": ["vector"]}, r"mine: vector of node 'b' is \[1.0\], not numbers"),
        ({"vector": 3}, {"features": ["vector"]}, "mine: vector of node 'b' is 3, not numbers"),
        ({}, {"features": ["agee"]}, "mine: unknown node attribute 'agee'; did you mean age"),
        ({}, {"label": "clubs"}, "mine: unknown node attribute 'clubs'; valid: age, label, vector"),
        ({}, {"features": []}, "mine: no features: the nodes have no attribute that holds numbers"),
        ({"split": "training"}, {}, "mine: split of node 'b' is 'training', not one of train, val, test"),
        ({"split": "train", "label": None}, {}, "mine: node 'b' is in split train but has no label"),
        ({}, {"features": ["age", "age"]}, "mine: two features are called 'age'"),
        ({3: 4}, {}, "mine: node attribute 3: its name must be text"),
    ],
)
def test_bad_graphs_are_one_line(change: dict, options: dict, message: str) -> None:
    graph = _chain()
    graph.nodes["b"].update(change)
    with pytest.raises(InputError, match=f"^{message}") as caught:
        Dataset.from_networkx(graph, name="mine", **options)
    assert "\n" not in str(caught.value)


def test_other_objects_and_a_missing_networkx(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"^networkx: the graph has no nodes$"):
        Dataset.from_networkx(networkx.Graph())
    with pytest.raises(InputError, match=r"^from_networkx takes a graph of NetworkX, not dict: use "):
        Dataset.from_networkx({"a": ["b"]})
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(InputError, match=r"^from_networkx needs NetworkX: pip install 'mggcn\[networkx\]'$"):
        Dataset.from_networkx(_chain())
