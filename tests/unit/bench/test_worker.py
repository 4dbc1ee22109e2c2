"""The peers' script: it reads dataset folders by itself and times any loader."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from mggcn import storage
from mggcn.bench.peers import worker
from mggcn.dataset import Dataset

OPTIONS = {"threads": 1, "batch_size": 8, "hidden": 4, "fanout": [3, 2], "steps": 4, "device": "cpu"}


@pytest.mark.parametrize("sparse", [False, True])
def test_a_dataset_folder_is_read_as_it_was_written(small: Dataset, tmp_path: Path, sparse: bool) -> None:
    dense = np.maximum(np.asarray(small.x), 0)
    storage.save(replace(small, x=csr_array(dense) if sparse else dense), tmp_path / "data")
    task = worker.Task(tmp_path / "data")
    assert np.array_equal(task.x.numpy(), dense)
    assert np.array_equal(task.y.numpy(), small.y)
    assert small.split is not None
    assert np.array_equal(task.train.numpy(), small.split.train)
    rows, columns = small.graph.edges()
    assert np.array_equal(task.edges().numpy(), np.stack([columns, rows]))


def test_steps_are_timed_after_the_warm_up_and_past_the_end_of_an_epoch() -> None:
    taken: list[int] = []

    def step(batch: int) -> int:
        taken.append(batch)
        return 10 + batch

    told = worker.timed([0, 1, 2], step, OPTIONS, 3)
    assert taken == [0, 1, 2, 0, 1, 2, 0]
    assert len(told["step_seconds"]) == 4
    assert told["nodes"] == [10, 11, 12, 10]
    assert told["steps_an_epoch"] == 3


def test_an_absent_peer_is_told_by_its_reason(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    storage.save(small, tmp_path / "data")
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    worker.main("pyg", str(tmp_path / "data"), json.dumps(OPTIONS | {"threads": worker.torch.get_num_threads()}))
    told = json.loads(capsys.readouterr().out)
    assert "torch_geometric" in told["absent"]
    assert told["peak_memory_bytes"] > 0
