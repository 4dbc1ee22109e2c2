"""Training and scoring on a mapped folder give the bits of training in memory."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from mggcn import fit
from mggcn._io import memory
from mggcn._io.arrays import shared_tensor
from mggcn._io.mapping import Access, MappedRows
from mggcn.data import load_folder, save
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.runs._run_folder import load_run
from mggcn.training import _prepared as inputs


@pytest.fixture
def rows_asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows that are prefetched."""
    asked: list[int] = []
    monkeypatch.setattr(MappedRows, "prefetch", lambda _, rows: asked.extend(rows.tolist()))
    return asked


def weights(data: Dataset, method: str, **settings: object) -> dict[str, torch.Tensor]:
    run = fit(data, method, settings={"epochs": 2, "batch_size": 4, **settings}, device="cpu")
    tested = torch.from_numpy(run.predict(nodes=data.split.test).probabilities)
    return {**run.model.state_dict(), "probabilities": tested}


@pytest.mark.parametrize("method", ["mg-gcn", "mlp"])
@pytest.mark.parametrize("scaling", ["none", "auto"])
def test_weights_of_sparse_features_are_equal(small: Dataset, tmp_path: Path, method: str, scaling: str) -> None:
    save(replace(small, x=csr_array(np.maximum(small.x - 1.5, 0))), tmp_path / "d")
    assert_equal(tmp_path / "d", method, scaling=scaling)


def assert_equal(folder: Path, method: str, **settings: object) -> None:
    expected, actual = (weights(load_folder(folder, mmap=mmap), method, **settings) for mmap in (False, True))
    assert expected.keys() == actual.keys()
    assert all(torch.equal(expected[name], actual[name]) for name in expected)


def test_rows_of_files_that_do_not_stay_in_memory_are_prefetched_before_they_are_used(
    small: Dataset, tmp_path: Path, rows_asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    save(small, tmp_path / "d")
    for mmap in (False, True):
        weights(load_folder(tmp_path / "d", mmap=mmap), "mlp", scaling="none")
        assert rows_asked == []
    monkeypatch.setattr(inputs, "is_too_large", lambda _: True)
    weights(load_folder(tmp_path / "d", mmap=True), "mlp", scaling="none")
    assert set(rows_asked) >= set(small.split.train.tolist()) | set(small.split.test.tolist())


def test_labels_and_features_are_not_copied(small: Dataset, tmp_path: Path) -> None:
    save(small, tmp_path / "d")
    data = load_folder(tmp_path / "d", mmap=True)
    for array in (data.x, data.y):
        assert shared_tensor(array).data_ptr() == array.ctypes.data
    run = fit(data, "mlp", settings={"epochs": 1, "scaling": "none"}, device="cpu")
    assert run.inference(data, torch.device("cpu")).view.inputs.parts[0].data_ptr() == data.x.ctypes.data


def test_a_folder_that_changes_while_it_is_mapped_is_an_error(small: Dataset, tmp_path: Path) -> None:
    save(small, tmp_path / "d")
    data = load_folder(tmp_path / "d", mmap=True)
    run = fit(data, "mlp", settings={"epochs": 1}, device="cpu")
    np.load(tmp_path / "d" / "x.npy", mmap_mode="r+")[0] = 7
    (tmp_path / "d" / "x.npy").touch()
    for use in (lambda: fit(data, "mlp", settings={"epochs": 2}, device="cpu"), lambda: run.predict(), run.embed):
        with pytest.raises(InputError, match=r"x\.npy: changed while it was mapped"):
            use()


def test_runs_of_large_data_load_it_mapped(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = save(small, tmp_path / "d")
    fit(stored, "mlp", settings={"epochs": 1}, device="cpu").save(tmp_path / "run")
    run = load_run(tmp_path / "run")
    assert run.training_data.mapped is None
    assert replace(run, access=Access(mmap=True)).training_data.mapped is not None
    monkeypatch.setattr(memory, "available", lambda: 1)
    assert replace(run).training_data.mapped is not None
