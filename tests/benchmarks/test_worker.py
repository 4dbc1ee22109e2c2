"""The package for other libraries, which reads dataset folders without mggcn, times loaders and trains."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from benchmarks.speed.libraries import training, worker
from mggcn.data import save
from mggcn.data._dataset import Dataset

OPTIONS: dict[str, Any] = {"batch_size": 8, "hidden": 4, "fanout": [3, 2], "steps": 4, "device": "cpu", "hops": 2}
OPTIONS |= {"conv": "mean", "num_parts": 3, "parts_a_step": 2, "roots": 5, "walk": 2, "steps_an_epoch": 2}
OPTIONS |= {"dim": 4, "length": 6, "window": 2, "negatives": 2, "walks": 3, "walks_per_step": 16, "p": 1.0, "q": 0.5}


@pytest.fixture
def folder(small: Dataset, tmp_path: Path) -> Path:
    save(small, tmp_path / "data")
    return tmp_path / "data"


@pytest.mark.parametrize("sparse", [False, True])
def test_a_dataset_folder_is_read_as_it_was_written(small: Dataset, tmp_path: Path, sparse: bool) -> None:
    dense = np.maximum(np.asarray(small.x), 0)
    save(replace(small, x=csr_array(dense) if sparse else dense), tmp_path / "data")
    read = training.TrainingData(tmp_path / "data")
    assert np.array_equal(read.x.numpy(), dense)
    assert np.array_equal(read.y.numpy(), small.y)
    assert small.split is not None
    assert np.array_equal(read.train.numpy(), small.split.train)
    assert np.array_equal(np.flatnonzero(read.train_mask.numpy()), small.split.train)
    rows, columns = small.graph.edges()
    assert np.array_equal(read.edges().numpy(), np.stack([columns, rows]))
    loops = read.edges(loops=True)[:, rows.size :]
    assert np.array_equal(loops.numpy(), np.tile(np.arange(small.num_nodes), (2, 1)))


def test_whole_epochs_are_timed_after_the_warm_up() -> None:
    taken: list[int] = []

    def step(batch: int) -> int:
        taken.append(batch)
        return 10 + batch

    result = training.timed([0, 1, 2], step, OPTIONS)
    assert taken == [0, 1, 2] * 3
    assert len(result["step_seconds"]) == 6
    assert result["nodes"] == [10, 11, 12] * 2
    assert result["steps_an_epoch"] == 3


def test_some_steps_of_a_long_epoch_are_timed() -> None:
    assert len(training.timed(range(100), int, OPTIONS)["step_seconds"]) == 4


def test_short_epochs_are_repeated_and_long_ones_end_early() -> None:
    assert len(training.timed([0], int, {**OPTIONS, "least_seconds": 0.01})["step_seconds"]) > 4
    assert len(training.timed([0], int, {**OPTIONS, "most_seconds": 0.0})["step_seconds"]) == 3


def test_a_missing_library_is_reported_with_the_reason(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("benchmarks.speed.libraries.pyg")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    options = {**OPTIONS, "threads": torch.get_num_threads()}
    worker.main("pyg", "graphsage-mean", str(folder), json.dumps(options))
    result = json.loads(capsys.readouterr().out)
    assert "torch_geometric" in result["absent"]
    assert result["is_missing"]
    assert result["peak_memory_bytes"] > 0


@pytest.mark.filterwarnings("ignore:Sparse CS. tensor support", "ignore:Sparse invariant checks")
@pytest.mark.parametrize(
    ("method", "variant", "changes", "steps"),
    [
        ("gcn", "edge_index", {}, 1),
        ("gcn", "torch CSR", {}, 1),
        ("sgc", "", {}, 4),
        ("sign", "", {"dropout": 0.5}, 4),
        ("cluster-gcn", "edge_index", {}, 2),
        ("cluster-gcn", "torch CSR", {"conv": "gcn"}, 2),
    ],
)
def test_pytorch_geometric_trains(folder: Path, method: str, variant: str, changes: Any, steps: int) -> None:
    pytest.importorskip("torch_geometric")
    result = worker.measure("pyg", method, folder, {**OPTIONS, "variant": variant, **changes})
    assert result.get("absent") is None
    assert result["steps_an_epoch"] == steps
    assert len(result["step_seconds"]) >= 4
    assert max(result["nodes"]) <= 60


@pytest.mark.parametrize("method", ["graphsage-mean", "graphsaint", "node2vec", "gcn"])
def test_samplers_of_absent_libraries_are_named(method: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typing = pytest.importorskip("torch_geometric.typing")
    for name in ("WITH_PYG_LIB", "WITH_TORCH_SPARSE"):
        monkeypatch.setattr(typing, name, False)
    monkeypatch.setitem(sys.modules, "torch_cluster", None)
    result = worker.measure("pyg", method, folder, {**OPTIONS, "variant": "SparseTensor"})
    assert result["is_missing"]
    assert " needs " in result["absent"]


def test_an_exception_of_another_librarys_own_is_a_reason(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch_geometric")
    from benchmarks.speed.libraries import pyg

    def fail(*_: object) -> None:
        raise AssertionError("no such device\nand more")

    monkeypatch.setitem(pyg.RUNS, "gcn", fail)
    assert worker.measure("pyg", "gcn", folder, OPTIONS) == {"absent": "AssertionError: no such device"}


def test_windows_hold_the_nodes_after_a_start() -> None:
    model = training.WindowModel(9, lambda starts: starts[:, None] + torch.arange(6), OPTIONS)
    near, random = model.sample([0, 3])
    assert near.shape == (2 * 4, 3)
    assert torch.equal(near - near[:, :1], torch.arange(3).expand(8, 3))
    assert random.shape == (2 * 2 * 4, 3)
    loader = torch.utils.data.DataLoader(range(4), batch_size=2, collate_fn=model.sample)  # type: ignore[arg-type]
    before = model.embedding.weight.detach().clone()
    result = training.train_embedding(model, loader, model.loss, OPTIONS)
    assert result["steps_an_epoch"] == 2 * 3
    assert not torch.equal(before, model.embedding.weight)
