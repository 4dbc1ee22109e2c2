from types import SimpleNamespace

import numpy as np
import pytest

from mggcn.data._dataset import Dataset
from mggcn.data._pyg import torch_geometric
from mggcn.errors import DataWarning, InputError

torch = pytest.importorskip("torch")
Data = torch_geometric("these tests").data.Data
pytestmark = pytest.mark.filterwarnings(
    "ignore:Sparse CSR tensor support is in beta",
    "ignore:Sparse invariant checks are implicitly disabled",  # PyG's ToSparseTensor
)

ENDS = torch.tensor([[0, 1, 2], [1, 2, 3]])
Y = torch.tensor([0, 1, 0, 1, 0, 1])


def _data(**fields: object) -> "Data":
    plain = {"x": torch.ones(6, 2), "edge_index": ENDS}
    return Data(**{name: value for name, value in (plain | fields).items() if value is not None})


def _adj_t(values: "torch.Tensor", size: tuple[int, int] = (6, 6)) -> "torch.Tensor":
    return torch.sparse_coo_tensor(ENDS.flip(0), values, size, check_invariants=True)


class SparseTensor(SimpleNamespace):
    """The part of torch_sparse.SparseTensor that is used; the package has no wheels for every torch."""

    def to_torch_sparse_coo_tensor(self) -> "torch.Tensor":
        return self.entries


@pytest.mark.parametrize("direction", ["both", "in", "out"])
def test_adj_t_takes_the_place_of_edge_index(direction: str) -> None:
    expected = Dataset.from_pyg(_data(), direction=direction).graph
    entries = _adj_t(torch.ones(3))
    layouts = [entries, entries.to_sparse_csr(), entries.to_sparse_csc(), entries.to_dense()]
    transform = torch_geometric("these tests").transforms.ToSparseTensor()
    for data in [*(_data(edge_index=None, adj_t=value) for value in layouts), transform(_data())]:
        assert "edge_index" not in data
        graph = Dataset.from_pyg(data, direction=direction).graph
        assert np.array_equal(graph.indptr, expected.indptr)
        assert np.array_equal(graph.indices, expected.indices)
    extension = _data(edge_index=None)
    extension["adj_t"] = SparseTensor(entries=entries)
    assert np.array_equal(Dataset.from_pyg(extension, direction=direction).graph.indices, expected.indices)


@pytest.mark.parametrize("key", ["edge_weight", "edge_attr", "adj_t"])
def test_weights(key: str) -> None:
    weights = torch.tensor([1.0, 0.0, 0.5])
    layouts = [weights, weights.double()[:, None]] if key != "adj_t" else [_adj_t(weights), _adj_t(weights).to_dense()]
    for values in layouts:
        data = _data(**({"edge_index": None} if key == "adj_t" else {}), **{key: values})
        made = Dataset.from_pyg(data, direction="both")
        assert [made.graph.row(node).tolist() for node in range(4)] == [[1], [0], [3], [2]]
        assert made.graph.neighbour_weights().tolist() == [1, 1, 0.5, 0.5]
        origin = f"{'values of ' * (key == 'adj_t')}{key} of data"
        zeros = () if key == "adj_t" else ("1 edge of weight 0 removed",)
        note = f"weights of edges: {origin}; Dataset.from_pyg(data, weights=False) leaves them out"
        assert made.notes == (note, *zeros)
        assert Dataset.from_pyg(data, direction="both", weights=False).graph.relations is None
        assert Dataset.from_pyg(data, direction="both", weights=False).notes == ()


def test_weights_of_one_are_left_out() -> None:
    plain = Dataset.from_pyg(_data(), direction="directed")
    for weight in (torch.ones(3), torch.ones(3, 1, dtype=torch.int64)):
        made = Dataset.from_pyg(_data(edge_weight=weight), direction="directed")
        assert (made.digest, made.notes) == (plain.digest, ())


def test_edge_weight_comes_before_edge_attr() -> None:
    data = _data(edge_weight=torch.tensor([1.0, 2, 3]), edge_attr=-torch.ones(3))
    with pytest.warns(DataWarning, match="pyg: edge attributes are not used: ignored edge_attr of data"):
        made = Dataset.from_pyg(data, direction="in")
    assert made.graph.neighbour_weights().tolist() == [1, 2, 3]


def test_types() -> None:
    data = _data(edge_type=torch.tensor([2, 0, 1]))
    assert Dataset.from_pyg(data, direction="both").graph.types == ("0", "1", "2")
    data.edge_type_names = ["pays", "knows", "owns"]
    made = Dataset.from_pyg(data, direction="directed")
    assert made.graph.types == ("pays", "knows", "owns")
    assert made.graph.relations_of(2).number.tolist() == [0, 3]
    assert made.notes == ()


def test_float_labels_that_are_whole() -> None:
    with pytest.warns(DataWarning, match="pyg: 1 node has no label: its y is -1 or NaN"):
        data = Dataset.from_pyg(_data(y=torch.tensor([0.0, 1.0, -1.0, 2.0, 0.0, 1.0])), seed=None, direction="both")
    assert (data.y.dtype, data.y.tolist()) == (np.int64, [0, 1, -1, 2, 0, 1])


def test_node_numbers_of_the_parts() -> None:
    numbers = {
        "y": Y,
        "train_idx": torch.tensor([5, 0]),
        "val_idx": torch.tensor([2]),
        "test_idx": torch.tensor([1, 3]),
    }
    split = Dataset.from_pyg(_data(**numbers), direction="both").split
    assert [nodes.tolist() for nodes in split.parts().values()] == [[5, 0], [2], [1, 3]]
    mask = torch.tensor([True, False, False, False, False, True])
    mixed = Dataset.from_pyg(_data(**numbers, train_mask=mask), direction="both").split
    assert mixed.train.tolist() == [0, 5]
    with pytest.raises(InputError, match=r"mine: data.train_mask and data.train_idx are different nodes; remove one"):
        Dataset.from_pyg(_data(**numbers, train_mask=~mask), "mine")


def test_the_validation_part_may_be_called_valid() -> None:
    parts = {"train": torch.tensor([0, 1]), "valid": torch.tensor([2, 3]), "test": torch.tensor([4, 5])}
    numbers = {f"{part}_idx": nodes for part, nodes in parts.items()}
    masks = {f"{part}_mask": torch.isin(torch.arange(6), nodes) for part, nodes in parts.items()}
    for given in (numbers, masks, numbers | masks):
        split = Dataset.from_pyg(_data(y=Y, **given), direction="both").split
        assert [nodes.tolist() for nodes in split.parts().values()] == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(InputError, match=r"mine: data.val_mask and data.valid_idx are different nodes; remove one"):
        Dataset.from_pyg(_data(y=Y, **numbers, val_mask=torch.arange(6) == 2), "mine")


def test_every_key_that_is_not_used_is_named() -> None:
    assert (
        Dataset.from_pyg(_data(y=Y, num_nodes=6, n_id=torch.arange(6), name="six"), seed=None, direction="both").notes
        == ()
    )
    data = _data(y=Y, node_year=Y, stopping_mask=Y > 0, adj_t=_adj_t(torch.ones(3)), edge_attr=torch.ones(3, 2))
    with pytest.warns(DataWarning) as caught:
        notes = Dataset.from_pyg(data, seed=None, direction="both").notes
    assert notes == (
        "edge attributes are not used: ignored edge_attr of data",
        "not used: adj_t, node_year, stopping_mask of data",
    )
    assert [str(warning.message) for warning in caught] == [f"pyg: {note}" for note in notes]
    assert {warning.filename for warning in caught} == {__file__}
    with pytest.warns(DataWarning, match="pyg: not used: train_mask of data"):
        Dataset.from_pyg(_data(train_mask=Y > 0), direction="both")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"y": torch.tensor([0.0, 1.0, 1.5, 0.2, 0.0, 1.0])}, "y of node 2 is 1.5, not a whole number"),
        (
            {"edge_index": None, "adj_t": _adj_t(torch.ones(3), (4, 4))},
            r"data.adj_t: shape \[4, 4\], but there are 6 nodes",
        ),
        ({"edge_index": None, "adj_t": [[0]]}, "data.adj_t must be a tensor, not list"),
        ({"y": Y, "train_idx": torch.tensor([9])}, "data.train_idx: node 9 is out of range for 6 nodes"),
        (
            {"y": Y, "train_idx": torch.tensor([0.5])},
            "data.train_idx: must be node numbers or a boolean mask, not float32",
        ),
        (
            {"edge_weight": -torch.ones(3)},
            r"edge_weight of data: weight: -1.0 of edge 0 is negative; weights must be .*",
        ),
        (
            {"edge_attr": torch.tensor([1, float("nan"), 1])},
            r"edge_attr of data: weight: nan of edge 1 is missing; weights must be numbers of 0 or more; "
            r"Dataset.from_pyg\(data, weights=False\) leaves them out",
        ),
        ({"edge_weight": torch.ones(2)}, r"edge_weight of data: weight: shape \(2,\), not one weight for each of 3"),
        ({"edge_weight": torch.ones(3, 2)}, r"edge_weight of data: weight: shape \(3, 2\), not one weight"),
        ({"edge_type": torch.ones(3)}, r"edge_type: float32 of shape \(3,\), not an integer for each of 3 edges"),
        ({"edge_type": torch.tensor([0, 1])}, r"edge_type: int64 of shape \(2,\), not an integer for each of 3 edges"),
        ({"edge_type": torch.tensor([0, 1, -1])}, "edge_type: -1 of edge 2 is out of range for 2 types"),
        ({"edge_type": torch.tensor([0, 1, 255])}, "edge_type: 256 types of edges, more than 255"),
        ({"edge_type": ENDS[0], "edge_type_names": ["a"]}, "edge_type: 1 of edge 1 is out of range for 1 types"),
        ({"x": torch.ones(6)}, r"data.x: must have shape \[num_nodes, num_features\], not \[6\]"),
        ({"x": torch.ones(6, 2, dtype=torch.bfloat16)}, "data.x: Tensor is not an array"),
    ],
)
def test_bad_data_is_one_line(fields: dict, message: str) -> None:
    with pytest.raises(InputError, match=f"^mine: {message}") as caught:
        Dataset.from_pyg(_data(**fields), "mine")
    assert "\n" not in str(caught.value)
