"""HeteroData as one graph: nodes of the target type first, a feature for each type, types of edges."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import mggcn
from mggcn.data import load_folder, save
from mggcn.data._dataset import Dataset
from mggcn.data._pyg import as_dataset, torch_geometric
from mggcn.errors import DataWarning, InputError

pyg = torch_geometric("these tests")
HeteroData = pyg.data.HeteroData
ToUndirected = pyg.transforms.ToUndirected

WRITES, CITES = [[0, 1, 1, 0], [0, 0, 2, 4]], [[0, 1, 2], [1, 2, 0]]


def _data() -> "HeteroData":
    """Two authors who write five papers, which cite each other, and three topics of them."""
    data = HeteroData()
    data["author"].x = torch.tensor([[7.0], [8.0]])
    data["paper"].x = torch.arange(10.0).reshape(5, 2)
    data["paper"].y = torch.tensor([0, 1, 0, 1, 1])
    data["topic"].num_nodes = 3
    data["author", "writes", "paper"].edge_index = torch.tensor(WRITES)
    data["paper", "cites", "paper"].edge_index = torch.tensor(CITES)
    data["paper", "has", "topic"].edge_index = torch.tensor([[4], [2]])
    return data


def _edges(data: Dataset) -> set[tuple[str, str, str, float]]:
    """The edges of a directed graph by the ids of their ends, their type and their weight."""
    part = data.to_pyg()
    kinds = part.get("edge_type", torch.zeros(part.num_edges, dtype=torch.int64)).tolist()
    weights = part.get("edge_weight", torch.ones(part.num_edges)).tolist()
    names = data.ids_of(np.arange(data.num_nodes)).tolist()
    ends = ((names[source], names[target]) for source, target in part.edge_index.T.tolist())
    return {(*pair, data.graph.types[kind], weight) for pair, kind, weight in zip(ends, kinds, weights, strict=True)}


WRITTEN = {(f"author {a}", f"paper {p}", "writes", 1.0) for a, p in np.transpose(WRITES).tolist()}
CITED = {(f"paper {a}", f"paper {b}", "cites", 1.0) for a, b in np.transpose(CITES).tolist()}
HAS = ("paper 4", "topic 2", "has", 1.0)


def test_nodes_edges_and_features() -> None:
    data = _data()
    data["paper"].y[4] = -1
    with pytest.warns(DataWarning, match="pyg: 1 node has no label: its y is -1 or NaN"):
        made = Dataset.from_pyg(data, target="paper", seed=None, direction="directed")
    assert (made.name, made.source) == ("pyg", "torch_geometric HeteroData")
    assert made.ids_of([0, 4, 5, 7, 9]).tolist() == ["paper 0", "paper 4", "author 0", "topic 0", "topic 2"]
    assert made.y.tolist() == [0, 1, 0, 1, -1] + [-1] * 5
    assert (made.others, made.num_current) == (5, 5)
    assert _edges(made) == WRITTEN | CITED | {HAS}
    assert made.graph.types == ("writes", "cites", "has")
    assert made.feature_names == ("type=paper", "type=author", "type=topic", "paper x0", "paper x1", "author x0")
    assert made.x.toarray()[[1, 6, 9]].tolist() == [[1, 0, 0, 2, 3, 0], [0, 1, 0, 0, 0, 8], [0, 0, 1, 0, 0, 0]]
    both = Dataset.from_pyg(_data(), target="paper", seed=None, direction="both")
    assert both.graph.relations_of(0).indices.tolist() == [1, 2, 5, 6]
    assert both.graph.relations_of(0).number.tolist() == [1, 1, 0, 0]


def test_dense_and_sparse_features_are_the_same() -> None:
    data = _data()
    del data["author"], data["author", "writes", "paper"], data["paper", "has", "topic"], data["topic"]
    data["venue"].x = torch.ones(1, 1)
    data["paper", "in", "venue"].edge_index = torch.tensor([[0], [0]])
    dense = Dataset.from_pyg(data, seed=None, direction="both")
    assert isinstance(dense.x, np.ndarray)
    data["paper"].x = data["paper"].x.to_sparse()
    sparse = Dataset.from_pyg(data, seed=None, direction="both")
    assert np.array_equal(sparse.x.toarray(), dense.x)
    assert dense.x[4:].tolist() == [[1, 0, 8, 9, 0], [0, 1, 0, 0, 1]]


def test_the_only_labelled_type_is_the_target() -> None:
    made = Dataset.from_pyg(_data(), seed=None, direction="both")
    assert "target: nodes 'paper', the only ones with y" in made.notes
    assert made.digest == Dataset.from_pyg(_data(), target="paper", seed=None, direction="both").digest
    with pytest.warns(DataWarning, match="pyg: not used: y of paper"):
        unlabelled = Dataset.from_pyg(_data(), target="author", seed=None, direction="both")
    assert (unlabelled.classes, unlabelled.ids_of([0]).tolist()) == ((), ["author 0"])


def test_masks_names_and_ids_of_the_targets() -> None:
    data = _data()
    data["paper"].update(
        {
            "class_names": ["dull", "good"],
            "node_ids": ["a", "b", "c", "d", "e"],
            "year": torch.arange(5),
            "train_idx": torch.tensor([0, 1]),
            "val_mask": torch.arange(5) == 2,
            "test_idx": torch.tensor([3]),
        }
    )
    data["author"].train_mask = torch.tensor([True, False])
    data["paper", "cites", "paper"].edge_time = torch.ones(3)
    with pytest.warns(
        DataWarning, match="pyg: not used: year of paper, train_mask of author, edge_time of paper cites"
    ):
        made = Dataset.from_pyg(data, direction="both")
    assert made.classes == ("dull", "good")
    assert {part: nodes.tolist() for part, nodes in made.split.parts().items()} == {
        "train": [0, 1],
        "val": [2],
        "test": [3],
    }
    assert made.ids_of([0, 5]).tolist() == ["paper a", "author 0"]


def test_structural_features_if_no_type_has_any() -> None:
    data = _data()
    del data["paper"].x
    data["author"].num_nodes = 2
    del data["author"].x
    made = Dataset.from_pyg(data, seed=None, direction="both")
    assert made.feature_names[:4] == ("type=paper", "type=author", "type=topic", "log degree")
    assert made.x[0, 3] == pytest.approx(np.log1p(4))
    assert any(note.startswith("structural features") for note in made.notes)


@pytest.mark.parametrize("direction", [None, "both", "directed"])
def test_reverses_that_pyg_adds_are_left_out(direction: str | None) -> None:
    data, plain = _data(), _data()
    undirected = ToUndirected()(data)
    both = torch.tensor(CITES)
    plain["paper", "cites", "paper"].edge_index = torch.cat([both, both.flip(0)], dim=1)
    assert len(undirected.edge_types) == 5
    made = Dataset.from_pyg(undirected, seed=None, direction=direction)
    assert made.graph.types == ("writes", "cites", "has")
    assert made.digest == Dataset.from_pyg(plain, seed=None, direction=direction).digest
    note = "edges paper rev_writes author are left out: they are the reverses of author writes paper"
    assert note in made.notes
    one_way = Dataset.from_pyg(undirected, seed=None, direction="in")
    assert one_way.graph.types == ("writes", "cites", "has", "rev_writes", "rev_has")


def test_what_only_looks_like_reverses_stays() -> None:
    data = _data()
    data["paper", "writes", "author"].edge_index = torch.tensor(WRITES).flip(0)
    assert Dataset.from_pyg(data, seed=None, direction="both").graph.types == ("writes", "cites", "has")
    data["author", "writes", "paper"].edge_weight = torch.tensor([1.0, 2, 3, 4])
    data["paper", "writes", "author"].edge_weight = torch.tensor([1.0, 2, 3, 5])
    data["paper", "cites", "paper"].edge_weight = torch.ones(3)
    data["paper", "has", "topic"].edge_weight = torch.ones(1)
    made = Dataset.from_pyg(data, seed=None, direction="directed")
    assert made.graph.types == ("author writes paper", "cites", "has", "paper writes author")
    data["paper", "writes", "author"].edge_weight[3] = 4
    assert Dataset.from_pyg(data, seed=None, direction="directed").graph.types == ("writes", "cites", "has")
    data["paper", "writes", "author"].edge_index = torch.tensor([[0], [1]])
    assert len(Dataset.from_pyg(data, seed=None, direction="both", weights=False).graph.types) == 4


def test_weights_of_all_types() -> None:
    data = _data()
    data["author", "writes", "paper"].edge_weight = torch.tensor([1.0, 2, 3, 4])
    data["paper", "cites", "paper"].edge_attr = torch.tensor([[5.0], [6.0], [0.0]])
    data["paper", "has", "topic"].adj_t = torch.sparse_coo_tensor([[2], [4]], [1.0], (3, 5), check_invariants=True)
    del data["paper", "has", "topic"].edge_index
    made = Dataset.from_pyg(data, seed=None, direction="directed")
    origin = "edge_attr and edge_weight and values of adj_t of data"
    assert f"weights of edges: {origin}; Dataset.from_pyg(data, weights=False) leaves them out" in made.notes
    assert "1 edge of weight 0 removed" in made.notes
    assert _edges(made) == {
        ("author 0", "paper 0", "writes", 1.0),
        ("author 1", "paper 0", "writes", 2.0),
        ("author 1", "paper 2", "writes", 3.0),
        ("author 0", "paper 4", "writes", 4.0),
        ("paper 0", "paper 1", "cites", 5.0),
        ("paper 1", "paper 2", "cites", 6.0),
        HAS,
    }
    plain = Dataset.from_pyg(data, seed=None, direction="directed", weights=False)
    assert _edges(plain) == WRITTEN | CITED | {HAS}
    del data["author", "writes", "paper"].edge_weight
    with pytest.warns(DataWarning, match="pyg: not used: edge_attr of paper cites paper"):
        attributes = Dataset.from_pyg(data, seed=None, direction="directed")
    assert attributes.digest == plain.digest


def _put(*kind: str, **fields: object) -> Callable[["HeteroData"], None]:
    return lambda data: data[kind if len(kind) > 1 else kind[0]].update(fields)


@pytest.mark.parametrize(
    ("change", "target", "message"),
    [
        (lambda _: None, "papers", "unknown type of nodes 'papers'; did you mean paper?"),
        (_put("author", y=torch.tensor([0, 1])), None, "target: 2 types of nodes have y; give target='author' or "),
        (lambda data: data["paper"].pop("y"), None, "target: no types of nodes have y; give target='author' or "),
        (
            _put("paper", "cites", "book", edge_index=torch.tensor([[0], [0]])),
            None,
            r"data\['paper', 'cites', 'book'\]: there are no nodes of type 'book'",
        ),
        (
            _put("author", "writes", "paper", edge_index=torch.tensor([[0, 2], [0, 0]])),
            None,
            r"data\['author', 'writes', 'paper'\].edge_index: source 2 of edge 1 is out of range for 2 nodes of ",
        ),
        (
            _put("paper", "has", "topic", edge_index=torch.tensor([[0], [-1]])),
            None,
            r"data\['paper', 'has', 'topic'\].edge_index: target -1 of edge 0 is out of range for 3 nodes of ty",
        ),
        (
            _put("paper", "has", "topic", edge_index=torch.tensor([0])),
            None,
            r"data\['paper', 'has', 'topic'\].edge_index: must be integers of shape \[2, E\], not int64 of shape \[1\]",
        ),
        (
            lambda data: data["paper", "has", "topic"].pop("edge_index"),
            None,
            r"data\['paper', 'has', 'topic'\].edge_index is missing, and so is data\['paper', 'has', 'topic'\].adj_t",
        ),
        (
            _put("paper", "has", "topic", edge_weight=torch.tensor([2.0])),
            None,
            r"edges paper has topic have weights, but author writes paper have none; Dataset.from_pyg\(data, weights=",
        ),
        (
            _put("paper", "has", "topic", edge_weight=torch.tensor([-2.0])),
            None,
            "edge_weight of paper has topic: weight: -2.0 of edge 0 is negative; weights must be numbers of 0",
        ),
        (
            _put("paper", "has", "topic", edge_weight=torch.ones(2)),
            None,
            r"edge_weight of paper has topic: weight: shape \(2,\), not one weight for each of 1 edges",
        ),
        (
            _put("paper", y=torch.zeros(5, 4)),
            None,
            r"data\['paper'\].y: must have shape \[5\], one class per node, not ",
        ),
        (_put("paper", y=torch.ones(5, dtype=torch.bool)), None, r"data\['paper'\].y: must hold integers, not bool"),
        (_put("paper", train_mask=torch.ones(5)), None, r"data\['paper'\].train_mask must be booleans, not float32"),
        (_put("author", x=torch.ones(2)), None, r"data\['author'\].x: must have shape \[num_nodes, num_features\]"),
        (_put("author", x=torch.full((2, 1), float("nan"))), None, r"data\['author'\]: x of node 0, feature 0 is nan"),
        (
            lambda data: data["topic"].pop("num_nodes"),
            None,
            r"data\['topic'\].x and data\['topic'\].num_nodes are missing",
        ),
        (_put("topic", node_ids=[1, 2]), None, r"data\['topic'\].node_ids: shape \[2\], but there are 3 nodes"),
    ],
)
def test_bad_data_is_one_line(change: Callable, target: str | None, message: str) -> None:
    data = _data()
    change(data)
    with pytest.raises(InputError, match=f"^mine: {message}") as caught:
        Dataset.from_pyg(data, "mine", target=target, seed=None, direction="both")
    assert "\n" not in str(caught.value)


def test_more_types_than_a_graph_can_have() -> None:
    data = _data()
    for number in range(253):
        data["author", f"knows {number}", "author"].edge_index = torch.tensor([[0], [1]])
    with pytest.raises(InputError, match=r"^pyg: edge_type: 256 types of edges, more than 255$"):
        Dataset.from_pyg(data, seed=None, direction="directed")


def test_a_target_is_for_hetero_data() -> None:
    with pytest.raises(InputError, match=r"^pyg: target: is for HeteroData; Data has one type of nodes$"):
        Dataset.from_pyg(pyg.data.Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]])), target="paper")


def test_folders_keep_the_number_of_other_nodes(tmp_path: Path) -> None:
    made = Dataset.from_pyg(_data(), seed=None, direction="directed")
    loaded = load_folder(save(made, tmp_path / "d").path)
    assert (loaded.digest, loaded.others, loaded.graph.types) == (made.digest, 5, made.graph.types)
    assert "others" not in (save(replace(made, others=0), tmp_path / "e").path / "meta.json").read_text()
    assert replace(made, others=0).digest != made.digest


def test_inductive_training_is_refused() -> None:
    with pytest.raises(InputError, match=r"^pyg: inductive: training without test nodes would be without nodes of oth"):
        Dataset.from_pyg(_data(), seed=None, direction="both", inductive=True)
    with pytest.raises(InputError, match=r"^others: 11 of 10 nodes cannot be of other types$"):
        replace(Dataset.from_pyg(_data(), seed=None, direction="both"), others=11)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_what_only_nodes_of_another_type_show_is_learnt(is_sparse: bool) -> None:
    rng = np.random.default_rng(0)
    data, shop = HeteroData(), np.arange(240) % 30
    data["user"].x = torch.from_numpy(rng.random((240, 3)) if is_sparse else rng.normal(size=(240, 3))).float()
    if is_sparse:
        data["user"].x[torch.from_numpy(rng.random((240, 3)) < 0.7)] = 0
    sells = rng.permutation(30) % 2  # sweets or tools
    data["user"].y = torch.from_numpy(sells[shop])
    data["shop"].x = torch.from_numpy(np.stack([sells, rng.random(30)], axis=1)).float()
    data["user", "buys in", "shop"].edge_index = torch.from_numpy(np.stack([np.arange(240), shop]))
    run = mggcn.fit(data, settings={"epochs": 60}, device="cpu")
    assert run.dataset.is_sparse == is_sparse
    assert run.test_accuracy > 0.95
    predictions = run.predict(data)
    assert predictions.probabilities.shape == (240, 2)
    assert run.dataset.digest == as_dataset(data, "fit", needs_split=True).digest
