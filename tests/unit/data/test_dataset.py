from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from mggcn.data._dataset import Dataset
from mggcn.data._ids import names_in_draws
from mggcn.data._split import Split
from mggcn.errors import InputError
from mggcn.graph import Graph


def test_stratified_split_keeps_shares_and_is_seeded() -> None:
    y = np.repeat([0, 1, 2, -1], [100, 50, 10, 40])
    split = Split.stratified(y, seed=1)
    assert [part.size for part in (split.train, split.val, split.test)] == [96, 32, 32]
    assert np.bincount(y[split.train]).tolist() == [60, 30, 6]
    assert np.array_equal(split.train, Split.stratified(y, seed=1).train)
    assert not np.array_equal(split.train, Split.stratified(y, seed=2).train)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([0, 1], [1], [2]), "train and val overlap in 1 nodes, first node 1"),
        (([0, 1], [2], [0, 1]), "train and test overlap in 2 nodes"),
        (([0], [], [2]), "val is empty"),
        (([0, 0], [1], [2]), "train lists node 0 more than once"),
    ],
)
def test_bad_splits(parts: tuple, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Split.of(*parts)


def test_a_split_from_masks(small: Dataset) -> None:
    masks = [np.isin(np.arange(60), part) for part in small.split.parts().values()]
    for parts in (masks, [torch.from_numpy(mask) for mask in masks], [mask.tolist() for mask in masks]):
        split = Split.of(*parts)
        assert all(map(np.array_equal, split.parts().values(), small.split.parts().values()))
        assert small.with_split(split).split is split
    with pytest.raises(InputError, match="split: masks of different lengths, 59 and 60"):
        Split.of(masks[0], masks[1][:59], masks[2])
    longer = Split.of(*(np.append(mask, False) for mask in masks))
    with pytest.raises(InputError, match="split: the masks have 61 entries, but the graph has 60 nodes"):
        small.with_split(longer)
    with pytest.raises(InputError, match="split: val: must be node numbers or a boolean mask, not float32"):
        Split.of([0], np.ones(1, np.float32), [2])


def test_ids_of_a_mask(small: Dataset) -> None:
    assert small.ids_of(np.arange(60) == 7).tolist() == ["node-7"]
    with pytest.raises(InputError, match="nodes: node -1 is out of range for 60 nodes"):
        small.ids_of([-1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros(3, np.int64)}, "y has 3 rows but the graph has 60 nodes"),
        ({"x": np.zeros(60, np.float32)}, "x must have 2 dimensions"),
        ({"x": np.zeros((60, 2))}, "x must be float32"),
        ({"classes": ("red", "green")}, "y of node 2 is 2, outside the 2 classes"),
        ({"split": Split.of([0], [1], [60])}, "test holds node 60, out of range"),
        ({"node_ids": np.array(["a"] * 60)}, "a stands for more than one node"),
        ({"y": np.full(60, -1)}, "which has no label"),
        ({"classes": ("red", "green", "red")}, "^classes: 2 are called 'red'$"),
        ({"feature_names": ("age", "age", "size")}, "^feature_names: 2 are called 'age'$"),
    ],
)
def test_bad_data(small: Dataset, change: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(small, **change)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("sparse", [False, True])
def test_features_must_be_finite(small: Dataset, bad: float, sparse: bool) -> None:
    x = small.x.copy()
    x[17, 2] = bad
    with pytest.raises(InputError, match=f"x of node 17, feature 2 is {bad}"):
        replace(small, x=csr_array(x) if sparse else x)


def test_ids_in_both_directions(small: Dataset) -> None:
    assert small.ids_of([3, 1]).tolist() == ["node-3", "node-1"]
    assert small.nodes_of(["node-59", "node-0"]).tolist() == [59, 0]
    with pytest.raises(InputError, match="no node has the id 'node-60'"):
        small.nodes_of(["node-60"])


def test_without_ids_the_numbers_are_the_ids(small: Dataset) -> None:
    plain = replace(small, node_ids=None)
    assert plain.ids_of([3]).tolist() == [3]
    assert plain.nodes_of(["59"]).tolist() == [59]
    for bad in ("60", "-1", "x", "\u0661"):
        with pytest.raises(InputError, match="is not a number from 0 to 59"):
            plain.nodes_of([bad])


def test_byte_ids_come_back_as_text() -> None:
    data = Dataset(
        "bytes",
        Graph.from_edges([0], [1], 2),
        np.ones((2, 1), np.float32),
        np.full(2, -1),
        (),
        None,
        np.array([b"u", b"v"]),
    )
    assert data.ids_of([1]).tolist() == ["v"]
    assert data.nodes_of(["v"]).tolist() == [1]


def test_classes_without_training_nodes_are_a_warning(small: Dataset) -> None:
    named = replace(small, classes=("red", "green", "blue", "teal"), notes=("a note",))
    assert named.warnings == ("a note", "no training nodes of class 'teal': it cannot be learnt")
    many = replace(small, classes=(*small.classes, *"abcdefg"))
    (text,) = many.warnings
    assert text == "no training nodes of class 'a', 'b', 'c', 'd', 'e' and 2 more: it cannot be learnt"
    assert small.warnings == replace(named, split=None, notes=()).warnings == ()


def test_a_missing_split_is_an_error(small: Dataset) -> None:
    assert small.require_split() is small.split
    with pytest.raises(InputError, match=r"^small: no training labels \(the data set has no split\)$"):
        replace(small, split=None).require_split()


def test_names_in_draws_follow_the_ids(small: Dataset) -> None:
    names = names_in_draws(small)
    assert names is not None
    assert np.unique(names).size == 60
    order = np.random.default_rng(0).permutation(60)
    assert np.array_equal(names_in_draws(replace(small, node_ids=small.node_ids[order])), names[order])
    as_bytes = replace(small, node_ids=small.node_ids.astype("S"))
    assert np.array_equal(names_in_draws(as_bytes), names), "as ids are stored"
    assert np.array_equal(names_in_draws(replace(small, node_ids=np.arange(60, 120))), np.arange(60, 120))
    assert names_in_draws(replace(small, node_ids=None)) is None


def test_its_text_is_a_few_lines_whatever_its_size(small: Dataset) -> None:
    many = replace(small, source="made by hand", notes=("one edge was left out",))
    assert repr(many).splitlines()[1:] == ["made by hand", "note: one edge was left out>"]
    assert repr(many).startswith(f"<Dataset {small.name}: {small.num_nodes} nodes, ")
