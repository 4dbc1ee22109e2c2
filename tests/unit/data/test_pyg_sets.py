import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings

from mggcn.data import load
from mggcn.data._dataset import Dataset
from mggcn.data._features import as_features, csr_parts
from mggcn.data._from_arrays import edge_values
from mggcn.data._pyg import torch_geometric
from mggcn.data._split import Split
from mggcn.errors import DataWarning, InputError
from mggcn.graph import Graph
from tests.strategies import weighted_graphs

torch = pytest.importorskip("torch")
Data = torch_geometric("these tests").data.Data
datasets = torch_geometric("these tests").datasets


def _chain(n: int = 12, **fields: object) -> "Data":
    plain = {
        "x": torch.arange(2.0 * n).reshape(n, 2),
        "edge_index": torch.stack([torch.arange(n - 1), torch.arange(1, n)]),
        "y": torch.arange(n) % 2,
    }
    return Data(**{name: value for name, value in (plain | fields).items() if value is not None})


def _mask(n: int, *nodes: int) -> "torch.Tensor":
    mask = torch.zeros(n, dtype=torch.bool)
    mask[list(nodes)] = True
    return mask


@pytest.mark.parametrize("direction", ["both", "in", "out"])
def test_there_and_back(direction):
    rng = np.random.default_rng(0)
    before = Dataset(
        name="mine",
        graph=Graph.from_edges(*rng.integers(0, 9, (2, 30)), 9, direction=direction),
        x=rng.normal(size=(9, 3)).astype(np.float32),
        y=np.array([0, 1, 2, -1, 0, 1, 2, 0, 1]),
        classes=("a", "b", "c"),
        split=Split.of([0, 1, 2], [4], [5, 8]),
        node_ids=np.array([f"n{node}" for node in range(9)]),
    )
    data = before.to_pyg()
    data.validate()
    after = Dataset.from_pyg(data, "mine", direction=direction)
    assert np.array_equal(after.graph.indptr, before.graph.indptr)
    assert np.array_equal(after.graph.indices, before.graph.indices)
    assert np.array_equal(after.x, before.x)
    assert np.array_equal(after.y, before.y)
    assert (after.classes, after.node_ids.tolist()) == (before.classes, before.node_ids.tolist())
    for part in ("train", "val", "test"):
        assert np.array_equal(getattr(after.split, part), getattr(before.split, part))


@settings(max_examples=settings().max_examples // 2)
@given(graph=weighted_graphs())
def test_weights_types_and_directions_there_and_back(graph: Graph) -> None:
    assume(graph.relations.weight is not None and (graph.relations.weight != 1).any())
    before = Dataset("mine", graph, np.ones((graph.num_nodes, 1), np.float32), np.full(graph.num_nodes, -1), ())
    data = before.to_pyg()
    data.validate()
    assert set(edge_values(data.keys())) == {"edge_weight", *(["edge_type"] if graph.types else [])}
    after = Dataset.from_pyg(data, "mine", direction=graph.direction)
    assert (after.digest, after.graph.types) == (before.digest, graph.types)
    assert data.num_edges == graph.num_edges * (2 if graph.direction == "both" else 1)


def test_edges_point_from_source_to_target():
    directed = Dataset.from_pyg(_chain(), direction="in")
    assert directed.graph.row(1).tolist() == [0]
    assert directed.to_pyg().edge_index[:, 0].tolist() == [0, 1]
    assert Dataset.from_pyg(_chain(), direction="both").to_pyg().edge_index.shape == (2, 22)


def test_sparse_features_and_no_split_come_out_dense_and_without_masks():
    digits = load("digits")
    sparse = replace(
        digits,
        x=as_features(csr_parts(np.ones(1797), np.zeros(1797, int), np.arange(1798), (1797, 3))),
        split=None,
    )
    data = sparse.to_pyg()
    assert data.x.shape == (1797, 3)
    assert data.x[:, 0].sum() == 1797
    assert "train_mask" not in data


def test_sparse_tensors_are_read():
    data = Dataset.from_pyg(_chain(x=torch.eye(12).to_sparse()), direction="both")
    assert np.array_equal(data.x.toarray(), np.eye(12))


def test_missing_masks_are_drawn_or_left_out():
    drawn = Dataset.from_pyg(_chain(20), seed=1, direction="both")
    assert [part.size for part in (drawn.split.train, drawn.split.val, drawn.split.test)] == [12, 4, 4]
    assert "60/20/20 split of seed 1" in drawn.source
    assert Dataset.from_pyg(_chain(20), seed=None, direction="both").split is None
    unlabelled = Dataset.from_pyg(_chain(y=None), direction="both")
    assert (unlabelled.split, unlabelled.classes) == (None, ())


def test_of_several_splits_the_first_is_taken_with_a_warning():
    masks = {
        f"{part}_mask": torch.stack([_mask(12, 2 * place), _mask(12, 11)], dim=1)
        for place, part in enumerate(("train", "val", "test"))
    }
    note = "several splits in train_mask (2 columns), val_mask (2 columns), test_mask (2 columns): column 0 is used"
    with pytest.warns(DataWarning, match=re.escape(f"mine: {note}")):
        data = Dataset.from_pyg(_chain(**masks), "mine", direction="both")
    assert (data.split.train.tolist(), data.split.val.tolist(), data.split.test.tolist()) == ([0], [2], [4])
    assert data.notes == (note,)
    single = {name: mask[:, :1] for name, mask in masks.items()}
    assert Dataset.from_pyg(_chain(**single), direction="both").notes == ()


def test_values_of_edges_are_ignored_with_a_warning():
    edges = torch.tensor([[0, 1, 0, 0, 2], [1, 0, 1, 1, 2]])
    data = _chain(edge_index=edges, edge_attr=torch.ones(5, 2), edge_time=torch.ones(5))
    with pytest.warns(DataWarning, match="mine: edge attributes are not used") as caught:
        dataset = Dataset.from_pyg(data, "mine")
    assert [warning.filename for warning in caught] == [__file__]
    assert dataset.notes == (
        "edge attributes are not used: ignored edge_attr, edge_time of data",
        "1 self-loop and 2 duplicate edges removed",
    )
    del data.edge_attr, data.edge_time
    assert Dataset.from_pyg(data, direction="in").notes == ("1 self-loop and 2 duplicate edges removed",)


def test_without_x_the_features_are_structural():
    data = _chain(x=None, num_nodes=12)
    dataset = Dataset.from_pyg(data, "mine", direction="both")
    assert dataset.feature_names[0] == "log degree"
    assert dataset.x[:, 0].tolist() == pytest.approx(np.log1p(dataset.graph.degrees))
    assert dataset.num_nodes == 12


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"x": None}, "mine: data.x and data.num_nodes are missing"),
        ({"x": "age"}, r"mine: data.x: must have shape \[num_nodes, num_features\], not \[\]"),
        ({"edge_index": None}, "mine: data.edge_index is missing, and so is data.adj_t"),
        (
            {"edge_index": torch.zeros(3, 4, dtype=torch.long)},
            r"mine: edge_index: must have shape \[2, E\], not \[3, 4\]",
        ),
        (
            {"edge_index": torch.tensor([[0], [12]])},
            "mine: edge_index: edges: target 12 of edge 0 is out of range for 12 nodes",
        ),
        ({"y": torch.zeros(12, 4)}, r"mine: y: must have shape \[12\], one class per node, not \[12, 4\]"),
        ({"y": torch.full((12,), 0.5)}, "mine: y of node 0 is 0.5, not a whole number"),
        ({"y": torch.full((12,), -5)}, "mine: y of node 0 is -5, outside"),
        ({"train_mask": torch.arange(3)}, "mine: data.train_mask must be booleans"),
        ({"x": torch.full((12, 2), float("nan"))}, "mine: x of node 0, feature 0 is nan"),
        ({"train_mask": _mask(12, 0), "val_mask": _mask(12, 0), "test_mask": _mask(12, 1)}, "train and val overlap"),
    ],
)
def test_bad_data_is_one_line(fields, message):
    with pytest.raises(InputError, match=message):
        Dataset.from_pyg(_chain(**fields), "mine", direction="both")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Yelp", "pyg:Yelp: its nodes have several labels each"),
        ("Flicker", "unknown PyG data set 'Flicker'; did you mean Flickr"),
        ("../x", "pyg:../x: not the name of a PyG data set"),
        ("", "pyg:: not the name of a PyG data set"),
        ("Planetoid", "pyg:Planetoid: PyG could not load it"),
    ],
)
def test_names_that_cannot_be_loaded(name: str, message: str):
    with pytest.raises(InputError) as caught:
        load(f"pyg:{name}")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_any_other_set_is_loaded_through_pygs_class(cache, monkeypatch: pytest.MonkeyPatch):
    class Toy(list):
        def __init__(self, root: str, name: str, force_reload: bool = False):
            assert force_reload
            assert root.endswith("pyg/Toy")
            graphs = {"one": [_chain(20)], "two": [_chain(), _chain()], "kinds": [kinds]}
            super().__init__(graphs[name])

    kinds = torch_geometric("this test").data.HeteroData({"paper": _chain(20).to_dict(), "topic": {"num_nodes": 2}})
    del kinds["paper"].edge_index
    kinds["paper", "has", "topic"].edge_index = torch.tensor([[0, 1], [0, 1]])

    monkeypatch.setattr(datasets, "Toy", Toy, raising=False)
    monkeypatch.setattr(datasets, "__all__", ["Toy"])
    data = load("pyg:Toy/one", seed=3)
    assert (data.name, data.num_nodes, data.split.train.size) == ("pyg:Toy/one", 20, 12)
    assert data.source == "torch_geometric.datasets.Toy; 60/20/20 split of seed 3"
    assert (cache / "converted" / "pyg-Toy-one").is_dir()
    assert data.path is None, "the folder has no split"
    monkeypatch.setattr(datasets, "Toy", None)
    assert not np.array_equal(load("pyg:Toy/one", seed=4).split.train, data.split.train)
    monkeypatch.setattr(datasets, "Toy", Toy)
    with pytest.raises(InputError, match="pyg:Toy/two: 2 graphs"):
        load("pyg:Toy/two")
    data = load("pyg:Toy/kinds")
    assert (data.num_current, data.others, data.graph.types) == (20, 2, ("has",))


def test_without_pyg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    digits = load("digits")
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    with pytest.raises(InputError, match=r"to_pyg needs PyG: pip install 'mggcn\[pyg\]'"):
        digits.to_pyg()
    for name in ("pyg:Flickr", "reddit"):
        with pytest.raises(InputError, match=r"needs PyG: pip install 'mggcn\[pyg\]'"):
            load(name)
