"""The peers' script, which reads dataset folders without mggcn and times any loader."""

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
    data = worker.TrainingData(tmp_path / "data")
    assert np.array_equal(data.x.numpy(), dense)
    assert np.array_equal(data.y.numpy(), small.y)
    assert small.split is not None
    assert np.array_equal(data.train.numpy(), small.split.train)
    rows, columns = small.graph.edges()
    assert np.array_equal(data.edges().numpy(), np.stack([columns, rows]))


def test_steps_are_timed_after_the_warm_up_and_past_the_end_of_an_epoch() -> None:
    taken: list[int] = []

    def step(batch: int) -> int:
        taken.append(batch)
        return 10 + batch

    result = worker.timed([0, 1, 2], step, OPTIONS)
    assert taken == [0, 1, 2, 0, 1, 2, 0]
    assert len(result["step_seconds"]) == 4
    assert result["nodes"] == [10, 11, 12, 10]
    assert result["steps_an_epoch"] == 3


def test_a_missing_peer_is_reported_with_the_reason(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    storage.save(small, tmp_path / "data")
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    worker.main("pyg", str(tmp_path / "data"), json.dumps(OPTIONS | {"threads": worker.torch.get_num_threads()}))
    result = json.loads(capsys.readouterr().out)
    assert "torch_geometric" in result["absent"]
    assert result["peak_memory_bytes"] > 0
