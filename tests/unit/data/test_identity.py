"""A data set is what it holds: its digest follows every change, and nobody changes it in place."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

import mggcn
from mggcn._io.arrays import shared_tensor
from mggcn.data import load_folder, save
from mggcn.data._dataset import Dataset
from mggcn.data._features import Measure
from mggcn.data._split import Split
from mggcn.errors import InputError
from mggcn.graph import Graph

Change = Callable[[Dataset], Dataset]

NAMES = ("a", "b", "c")


def other_split(data: Dataset) -> Split:
    split = data.require_split()
    return Split(split.val, split.train, split.test)


def other_graph(data: Dataset) -> Graph:
    return data.graph.subgraph(np.arange(data.num_nodes // 2))


CHANGES: dict[str, Change] = {
    "features": lambda data: replace(data, x=data.x * 2),
    "labels": lambda data: replace(data, y=np.roll(data.y, 1)),
    "graph": lambda data: replace(data, graph=other_graph(data)),
    "direction": lambda data: replace(data, graph=replace(data.graph, direction="in")),
    "split": lambda data: data.with_split(other_split(data)),
    "classes": lambda data: replace(data, classes=("red", "blue", "green")),
    "ids": lambda data: replace(data, node_ids=np.arange(data.num_nodes)),
    "inductive": lambda data: replace(data, inductive=True),
    "names of features": lambda data: replace(data, feature_names=("c", "b", "a")),
    "meaning of features": lambda data: replace(data, measures={"a": Measure("{} days", "days")}),
    "attributes of edges": lambda data: replace(data, edge_attributes={"t": np.arange(data.graph.num_stored)}),
    "copies": lambda data: replace(data, copies=1),
}


@pytest.fixture
def named(small: Dataset, tmp_path: Path) -> Dataset:
    return save(replace(small, feature_names=NAMES), tmp_path / "named")


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_has_another_digest_and_no_folder(named: Dataset, change: str) -> None:
    changed = CHANGES[change](named)
    assert changed.digest != named.digest
    assert (changed.digest_without_split == named.digest_without_split) == (change == "split")
    assert named.path is not None
    assert changed.path is None


def test_the_same_content_has_the_same_digest_in_memory_stored_and_mapped(named: Dataset, tmp_path: Path) -> None:
    rebuilt = replace(named, x=np.array(named.x), y=np.array(named.y), node_ids=np.array(named.node_ids), source="?")
    loaded = [load_folder(tmp_path / "named", mmap=mmap) for mmap in (False, True)]
    assert {data.digest for data in (rebuilt, *loaded, pickle.loads(pickle.dumps(named)))} == {named.digest}  # noqa: S301


def test_a_changed_copy_of_a_mapped_folder_is_not_the_folder(named: Dataset, tmp_path: Path) -> None:
    mapped = load_folder(tmp_path / "named", mmap=True)
    changed = replace(mapped, x=np.zeros(mapped.x.shape, np.float32))
    assert changed.digest != mapped.digest
    assert changed.path is None


def arrays_of(data: Dataset) -> list[NDArray[Any]]:
    assert data.node_ids is not None
    x = [data.x] if isinstance(data.x, np.ndarray) else [data.x.data, data.x.indices, data.x.indptr]
    parts = data.require_split().parts().values()
    return [data.graph.indptr, data.graph.indices, data.y, data.node_ids, *x, *parts, *data.edge_attributes.values()]


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("how", ["created", "loaded", "mapped", "copied", "deeply copied", "unpickled", "changed"])
def test_no_array_can_be_written_to(named: Dataset, is_sparse: bool, how: str, tmp_path: Path) -> None:
    created = replace(
        named,
        x=csr_array(named.x) if is_sparse else np.array(named.x),
        edge_attributes={"time": np.arange(named.graph.num_stored)},
    )
    save(created, tmp_path / "data")
    made: dict[str, Callable[[], Dataset]] = {
        "created": lambda: created,
        "loaded": lambda: load_folder(tmp_path / "data", mmap=False),
        "mapped": lambda: load_folder(tmp_path / "data", mmap=True),
        "copied": lambda: copy.copy(created),
        "deeply copied": lambda: copy.deepcopy(created),
        "unpickled": lambda: pickle.loads(pickle.dumps(created)),  # noqa: S301
        "changed": lambda: replace(created, name="other"),
    }
    for array in arrays_of(made[how]()):
        with pytest.raises(ValueError, match="read-only"):
            array[:1] = array[:1]
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


def test_the_callers_own_arrays_stay_the_callers(small: Dataset) -> None:
    x, y = np.array(small.x), np.array(small.y)
    indptr, indices = np.array(small.graph.indptr), np.array(small.graph.indices)
    parts = [np.array(part) for part in small.require_split().parts().values()]
    data = Dataset("own", Graph(indptr, indices), x[:], y[::1], small.classes, Split(*parts))
    before = data.digest
    for array in (x, y, indptr, indices, *parts):
        array[:] = 0
    assert data.digest == before
    np.testing.assert_array_equal(data.x, small.x)


def test_memory_of_tensors_stays_the_callers(small: Dataset) -> None:
    data = small.to_pyg()
    made = Dataset.from_pyg(data)
    before = made.digest
    data.x.zero_()
    data.y.zero_()
    data.edge_index.zero_()
    assert made.digest == before
    assert np.abs(made.x).sum() > 0


def test_a_tensor_shares_the_memory_of_a_read_only_array(small: Dataset) -> None:
    tensor = shared_tensor(small.x)  # type: ignore[arg-type]
    assert tensor.data_ptr() == small.x.ctypes.data  # type: ignore[union-attr]
    torch.testing.assert_close(tensor, torch.from_numpy(np.array(small.x)))


@pytest.mark.parametrize(
    ("indices", "message"),
    [([0, 3], "x_indices: column 3 is out of range for 3 features"), ([-1, 0], "x_indices: column -1 is out of range")],
)
def test_columns_of_sparse_features_are_checked(small: Dataset, indices: list[int], message: str) -> None:
    x = csr_array((np.ones(2, np.float32), np.zeros(2, np.int32), np.r_[0, np.full(60, 2)]), (60, 3))
    x.indices = np.array(indices, np.int32)
    with pytest.raises(InputError, match=message):
        replace(small, x=x)


def test_rows_of_sparse_features_are_sorted_and_summed(small: Dataset) -> None:
    columns, starts = np.array([2, 0, 2], np.int32), np.r_[0, np.full(60, 3)].astype(np.int32)
    x = csr_array((np.array([1, 2, 3], np.float32), columns, starts), (60, 3))
    stored = replace(small, x=x).x
    assert (stored.indices.tolist(), stored.data.tolist()) == ([0, 2], [2, 4])  # type: ignore[union-attr]
    assert x.indices.tolist() == [2, 0, 2], "the caller's matrix stays as it is"


@pytest.mark.parametrize("file", ["indices.npy", "y.npy", "indptr.npy"])
def test_a_mapped_file_with_entries_out_of_range_is_refused(named: Dataset, file: str, tmp_path: Path) -> None:
    array = np.load(tmp_path / "named" / file)
    array[3] = 10**6
    np.save(tmp_path / "named" / file, array)
    with pytest.raises(InputError, match="named: "):
        load_folder(tmp_path / "named", mmap=True)


def test_a_run_on_changed_data_never_scores_the_folder_it_came_from(named: Dataset, tmp_path: Path) -> None:
    changed = replace(named, x=named.x[:, ::-1])
    run = mggcn.fit(changed, "mlp", device="cpu", settings={"epochs": 2})
    assert run.is_trained_on(changed)
    assert not run.is_trained_on(named)
    assert run.record.dataset["path"] is None
    run.save(tmp_path / "run")
    again = mggcn.load_run(tmp_path / "run")
    with pytest.raises(InputError, match="small"):
        again.predict()
    np.testing.assert_array_equal(again.predict(changed).probabilities, run.predict().probabilities)


def test_a_run_whose_data_kept_their_name_but_not_their_content_says_so(tmp_path: Path) -> None:
    digits = mggcn.load("digits", root=tmp_path)
    run = mggcn.fit(replace(digits, x=digits.x * 2), "mlp", device="cpu", settings={"epochs": 1})
    run.save(tmp_path / "run")
    with pytest.raises(InputError, match=r"digits: not the data that .*run was trained on; the data set changed since"):
        mggcn.load_run(tmp_path / "run", root=tmp_path).predict()
