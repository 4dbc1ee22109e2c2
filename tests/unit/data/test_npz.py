from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from mggcn.data._npz import read_npz
from mggcn.errors import DataWarning, InputError

N = 20
ONE_WAY = "19 edges have no reverse: taken as undirected; direction 'directed' keeps directions"


def _fields(**changed: object) -> dict[str, object]:
    rng = np.random.default_rng(0)
    fields: dict[str, object] = {
        "num_nodes": np.int64(N),
        "edge_index": np.stack([np.arange(N - 1), np.arange(1, N)]),
        "x": rng.normal(size=(N, 3)),
        "y": np.arange(N) % 2,
    }
    fields |= changed
    return {name: value for name, value in fields.items() if value is not None}


def _write(tmp_path: Path, **changed: object) -> Path:
    np.savez(tmp_path / "mine.npz", **_fields(**changed))
    return tmp_path / "mine.npz"


def test_a_plain_file_is_read_and_divided(tmp_path: Path):
    data = read_npz(_write(tmp_path), seed=4)
    assert (data.name, data.num_nodes, data.graph.num_edges, data.classes) == ("mine", N, N - 1, ("class 0", "class 1"))
    assert data.x.dtype == np.float32
    assert [part.size for part in (data.split.train, data.split.val, data.split.test)] == [12, 4, 4]
    assert data.source == "mine.npz; 60/20/20 split of seed 4"
    assert np.bincount(data.y[data.split.test]).tolist() == [2, 2]


def test_without_x_the_features_are_structural_or_none(tmp_path: Path):
    data = read_npz(_write(tmp_path, x=None))
    assert data.feature_names[0] == "log degree"
    assert data.x[:, 0].tolist() == pytest.approx(np.log1p(data.graph.degrees))
    assert data.notes[0].startswith("structural features, made of the edges: log degree, ")
    assert np.array_equal(read_npz(_write(tmp_path), features="structural").x, data.x)
    assert read_npz(_write(tmp_path), features="none").x.shape == (N, 0)
    with pytest.raises(InputError, match=r"mine.npz: features: 'age' is not all, none or structural"):
        read_npz(_write(tmp_path), features="age")


def test_direction_and_name_are_taken(tmp_path: Path):
    data = read_npz(_write(tmp_path), name="chain", direction="in")
    assert (data.name, data.graph.direction) == ("chain", "in")
    assert data.graph.row(1).tolist() == [0]


def test_weights_and_types_of_edges(tmp_path: Path):
    values = {"edge_weight": np.array([[2.0], [1], [0.5], [9]]), "edge_type": np.array([0, 1, 0, 1])}
    path = _write(tmp_path, edge_index=np.array([[0, 1, 0, 3], [1, 0, 1, 3]]), weight=np.ones(4), **values)
    note = "edge attributes are not used: ignored weight of mine.npz"
    with pytest.warns(DataWarning, match=f"mine: {note}"):
        data = read_npz(path, direction="directed")
    assert data.notes == (
        note,
        "weights of edges: edge_weight; weight_column='none' leaves them out",
        "1 self-loop removed",
        "1 parallel edge joined, weights added",
    )
    assert data.graph.schema.relations == ("0 in", "0 out", "1 in", "1 out")
    row = data.graph.relations_of(1)
    assert (row.indices.tolist(), row.number.tolist(), row.weight.tolist()) == ([0, 0], [0, 3], [2.5, 1])
    without = read_npz(_write(tmp_path, **values | {"edge_index": [[0, 1, 0, 3], [1, 0, 1, 3]]}), weight_column="none")
    assert without.graph.relations.weight is None
    assert without.notes[1:] == ("1 self-loop and 1 duplicate edge removed",)
    named = np.array(["pays", "knows"])
    assert read_npz(
        _write(tmp_path, edge_index=np.eye(2, 4, dtype=int), **values, edge_type_names=named)
    ).graph.types == (
        "pays",
        "knows",
    )


def test_sparse_features_stay_sparse(tmp_path: Path):
    x = csr_array(np.eye(N, 5, dtype=np.float64))
    parts = {"x_data": x.data, "x_indices": x.indices, "x_indptr": x.indptr, "x_shape": np.array(x.shape)}
    data = read_npz(_write(tmp_path, x=None, **parts))
    assert data.is_sparse
    assert np.array_equal(data.x.toarray(), np.eye(N, 5))


def test_a_full_split_is_taken_as_it_is(tmp_path: Path):
    parts = {"train_idx": np.array([3, 1]), "val_idx": np.array([0]), "test_idx": np.array([9, 10])}
    data = read_npz(_write(tmp_path, class_names=np.array(["no", "yes"]), **parts))
    assert data.split.train.tolist() == [3, 1]
    assert data.classes == ("no", "yes")
    assert data.source == "mine.npz"


@pytest.mark.parametrize("spelling", ["val", "valid"])
def test_masks_are_the_split(tmp_path: Path, spelling: str):
    sizes = {"train": 8, spelling: 5, "test": 4}
    first = dict(zip(sizes, np.cumsum([0, *sizes.values()]), strict=False))
    masks = {f"{part}_mask": np.isin(np.arange(N), first[part] + np.arange(size)) for part, size in sizes.items()}
    data = read_npz(_write(tmp_path, **masks))
    assert [part.tolist() for part in data.split.parts().values()] == [[*range(8)], [*range(8, 13)], [*range(13, 17)]]
    assert (data.source, data.notes) == ("mine.npz", (ONE_WAY,))
    several = {name: np.stack([mask, ~mask], axis=1) for name, mask in masks.items()}
    listed = f"train_mask (2 columns), {spelling}_mask (2 columns), test_mask (2 columns)"
    with pytest.warns(DataWarning, match=r"mine: several splits in .*: column 0 is used"):
        again = read_npz(_write(tmp_path, **several))
    assert again.notes == (f"several splits in {listed}: column 0 is used", ONE_WAY)
    assert np.array_equal(again.split.val, data.split.val)


def test_every_array_that_is_not_used_is_named(tmp_path: Path):
    known = {"name": np.array("mine"), "num_classes": 2, "feature_names": np.array(["a", "b", "c"])}
    data = read_npz(_write(tmp_path, **known))
    assert (data.notes, data.feature_names) == ((ONE_WAY,), ("a", "b", "c"))
    path = _write(tmp_path, **known, trainmask=np.ones(N), dates=np.ones(N), x_data=np.ones(3))
    with pytest.warns(DataWarning, match=r"mine: not used: dates, trainmask, x_data of mine\.npz") as caught:
        data = read_npz(path)
    assert data.notes == ("not used: dates, trainmask, x_data of mine.npz", ONE_WAY)
    assert [warning.filename for warning in caught] == [__file__]


def test_a_missing_validation_part_is_held_out_of_training(tmp_path: Path):
    path = _write(tmp_path, train_idx=np.arange(10), test_idx=np.arange(10, 20))
    data = read_npz(path, seed=1)
    assert (data.split.train.size, data.split.val.size) == (8, 2)
    assert sorted([*data.split.train, *data.split.val]) == list(range(10))
    assert np.bincount(data.y[data.split.val]).tolist() == [1, 1]
    assert data.source == "mine.npz; validation: 2 training nodes held out by seed 1"
    assert np.array_equal(read_npz(path, seed=1).split.val, data.split.val)


def test_a_graph_without_labels_has_no_split(tmp_path: Path):
    for y in (None, np.full(N, -1)):
        data = read_npz(_write(tmp_path, y=y))
        assert (data.classes, data.split) == ((), None)
        assert (data.y == -1).all()


NAN = np.ones((N, 3))
NAN[7, 2] = np.nan
LOW = np.arange(N) % 2
LOW[5] = -2
SPARSE = {
    "x": None,
    "x_data": np.ones(N),
    "x_indices": np.zeros(N, int),
    "x_indptr": np.arange(N + 1),
    "x_shape": np.array([N, 5]),
}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"num_nodes": None}, "field num_nodes is missing (it holds edge_index, x, y)"),
        ({"edge_index": None}, "field edge_index is missing"),
        ({"num_nodes": np.float64(3)}, "num_nodes: must be one integer, not float64"),
        ({"num_nodes": np.int64(-1)}, "num_nodes: -1 is not positive"),
        ({"edge_index": np.zeros((3, 4), int)}, "edge_index: must have shape [2, E], not [3, 4]"),
        ({"edge_index": np.array([[0, 1], [2, N]])}, f"edge_index: edges: target {N} of edge 1 is out of range"),
        ({"edge_index": np.array([[0, -3], [2, 1]])}, "edge_index: edges: source -3 of edge 1 is out of range"),
        ({"edge_index": np.array([[0.5], [2.0]])}, "edge_index: edges: source must hold integers, not float64"),
        ({"edge_weight": np.full(N - 1, -1.5)}, "edge_weight: weight: -1.5 of edge 0 is negative; weights must be"),
        (
            {"edge_weight": np.ones(3)},
            "edge_weight: weight: shape (3,), not one weight for each of 19 edges; weight_column='none'",
        ),
        ({"edge_weight": np.full(N - 1, "a")}, "edge_weight: weight: must be numbers, not <U1"),
        ({"edge_type": np.full(N - 1, 255)}, "edge_type: 256 types of edges, more than 255"),
        ({"edge_type": np.full(N - 1, 0.5)}, "edge_type: float64 of shape (19,), not an integer for each of 19 edges"),
        ({"edge_type": np.zeros(3, int)}, "edge_type: int64 of shape (3,), not an integer for each of 19 edges"),
        ({"edge_type_names": np.array(["a"])}, "types: names of types of edges, but no edge_type"),
        ({**SPARSE, "x_data": None}, "field x is missing, and so is x_data"),
        ({"x": NAN}, "x of node 7, feature 2 is nan"),
        ({"x": np.full((N, 3), np.inf)}, "x of node 0, feature 0 is inf"),
        ({"x": np.full((N, 3), 1e300)}, "x of node 0, feature 0 is inf"),
        ({"x": np.ones((N - 1, 3))}, f"x has {N - 1} rows but the graph has {N} nodes"),
        ({"x": np.ones(N)}, "x must have 2 dimensions"),
        ({"x": np.full((N, 2), "a")}, "x: must hold numbers, not <U1"),
        ({**SPARSE, "x_shape": np.array([N + 1, 5])}, f"x_shape: [{N + 1}, 5] does not begin with the {N} nodes"),
        ({**SPARSE, "x_indices": np.full(N, 5)}, "x_indices: column 5 is out of range for 5 features"),
        ({**SPARSE, "x_indptr": np.arange(N)}, f"x_indptr: does not divide {N} values into {N} rows"),
        ({**SPARSE, "x_indptr": np.arange(N + 1.0)}, "x_indptr: must be a vector of integers, not float64"),
        ({**SPARSE, "x_data": np.full(N, np.nan)}, "x of node 0, feature 0 is nan"),
        ({"y": np.full(N, np.inf)}, "y of node 0 is inf, not a whole number"),
        ({"y": LOW}, "y of node 5 is -2, outside the 2 classes"),
        ({"y": np.zeros(N - 2, int)}, f"y: must have shape [{N}], one class per node, not [{N - 2}]"),
        ({"y": np.zeros((N, 4), int)}, f"y: must have shape [{N}], one class per node, not [{N}, 4]"),
        ({"class_names": np.array(["only"])}, "y of node 1 is 1, outside the 1 classes"),
        ({"train_idx": np.array([0]), "val_idx": np.array([0]), "test_idx": np.array([1])}, "train and val overlap"),
        (
            {"train_idx": np.array([0, 1]), "val_idx": np.array([2]), "test_idx": np.array([N])},
            "test_idx: node 20 is out of range for 20 nodes",
        ),
        ({"train_idx": np.array([], int), "test_idx": np.array([1])}, "split: train is empty"),
        ({"train_idx": np.arange(9), "val_idx": np.array([9])}, "split: test is empty"),
        (
            {"train_idx": np.array([0.5]), "test_idx": np.array([1])},
            "train_idx: must be node numbers or a boolean mask, not float64",
        ),
        ({"train_idx": np.arange(N) % 2}, f"train_idx: {N} values of 0 and 1 are a mask of integers; give a boolean"),
        ({"test_mask": np.arange(N) % 2}, f"test_mask must be booleans, not int64 [{N}]"),
        (
            {"val_mask": np.arange(N) < 2, "valid_idx": np.array([0])},
            "val_mask and valid_idx are different nodes; remove one of the two",
        ),
        ({"feature_names": np.array(["a", "b"])}, "feature_names: 2 names for 3 features"),
        (
            {"train_idx": np.array([0, N]), "test_idx": np.array([1])},
            f"train_idx: node {N} is out of range for {N} nodes",
        ),
        (
            {"y": np.r_[np.full(10, -1), np.zeros(10, int)], "train_idx": np.arange(5), "test_idx": np.arange(12, 15)},
            "split: train holds node 0, which has no label",
        ),
    ],
)
def test_bad_content_is_one_line_that_names_file_and_field(tmp_path: Path, changed, message: str):
    with pytest.raises(InputError) as caught:
        read_npz(_write(tmp_path, **changed))
    text = str(caught.value)
    assert text.startswith(f"{tmp_path / 'mine.npz'}: ")
    assert message in text
    assert "\n" not in text


def test_files_that_are_no_archive_are_errors(tmp_path: Path):
    path = _write(tmp_path)
    whole = path.read_bytes()
    for content in (b"", b"id,label\n", whole[: len(whole) // 2], whole[:-30], b"PK\x03\x04" + b"0" * 64):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"mine.npz: not a readable .npz file") as caught:
            read_npz(path)
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=r"none.npz: no such file"):
        read_npz(tmp_path / "none.npz")
    np.save(tmp_path / "one.npy", np.ones(3))
    with pytest.raises(InputError, match=r"one.npy: not a readable .npz file"):
        read_npz(tmp_path / "one.npy")


def test_a_damaged_member_is_named(tmp_path: Path):
    path = _write(tmp_path)
    content = bytearray(path.read_bytes())
    place = content.index(b"edge_index.npy") + 200
    content[place] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"mine.npz: edge_index: .*CRC"):
        read_npz(path)


def test_pickled_objects_are_not_loaded(tmp_path: Path):
    with pytest.raises(InputError, match=r"mine.npz: y: Object arrays cannot be loaded"):
        read_npz(_write(tmp_path, y=np.array([object()] * N)))


@pytest.mark.parametrize(
    ("name", "counts", "sizes", "ignored"),
    [
        ("coauthor_cs", (18333, 81894, 6805, 15), [11000, 3665, 3668], False),
        ("amazon_computers", (13752, 245861, 767, 10), [8252, 2750, 2750], False),
        ("xblock_phishing", (86622, 104322, 7, 2), [499, 124, 267], True),
    ],
)
def test_the_real_files(name, counts, sizes, ignored, real):
    path = real(f"{name}/{name}.npz")
    with pytest.warns(DataWarning, match="ignored edge_amount_eth") if ignored else nullcontext():
        data = read_npz(path)
    assert (data.num_nodes, data.graph.num_edges, data.num_features, data.num_classes) == counts
    found = [part.size for part in (data.split.train, data.split.val, data.split.test)]
    assert found == sizes
