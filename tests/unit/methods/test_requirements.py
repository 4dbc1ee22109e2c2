"""What a run needs is said, or refused, before it is allocated or written."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from mggcn._io import memory
from mggcn.cli import main
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.methods import published
from mggcn.training import _epochs as epochs

QUIET = ("--no-report", "--mmap", "--set", "epochs=2")


@pytest.fixture
def data(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(small, tmp_path / "data")


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("method", ["gcn", "sgc", "graphsaint", "label-propagation"])
def test_too_large_an_adjacency_is_one_line(
    method: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(memory, "_FEW", 0)
    monkeypatch.setattr(memory, "available", lambda: 5000)
    assert main(["train", "data", "--method", method, "--set", "scaling=none", *QUIET]) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("mggcn: error: ")]
    assert "of memory, and 4.9 KiB are available" in line
    assert "entries: needs " in line


@pytest.mark.usefixtures("data")
def test_too_small_a_disk_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=100))
    assert main(["train", "data", *QUIET]) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert "prepared: preparing needs " in line
    assert line.endswith(" of disk, and 100 bytes are free")
    assert sorted(path.name for path in Path().iterdir()) == ["data"]


@pytest.mark.usefixtures("data")
def test_memory_disk_and_time_are_printed_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(epochs, "_PROBED_BATCHES", 1)
    assert main(["train", "data", "--set", "batch_size=2", *QUIET]) == 0
    lines = capsys.readouterr().err.splitlines()
    (needed,) = (number for number, line in enumerate(lines) if line.startswith("mapped: needs up to "))
    times = [number for number, line in enumerate(lines) if "an epoch takes about " in line]
    epochs_1 = [number for number, line in enumerate(lines) if "epoch    1 " in line]
    assert needed < min(times)
    assert len(times) == len(epochs_1) == len(published.portfolio("mg-gcn"))
    assert sorted([*times, *epochs_1]) == [number for pair in zip(times, epochs_1, strict=True) for number in pair]
    assert "are kept" not in lines[needed]
    assert main(["train", "data", *QUIET]) == 0
    assert " of this data set are kept" in capsys.readouterr().err


@pytest.mark.usefixtures("data")
def test_predict_and_compare_print_what_they_need(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "data", "--out", "runs", *QUIET]) == 0
    run = str(next(Path("runs").iterdir()))
    capsys.readouterr()
    assert main(["predict", run, "--out", "scores.csv", "--mmap", "--cache", "cache"]) == 0
    assert capsys.readouterr().err.startswith("mapped: needs up to ")
    assert main(["compare", "data", "--methods", "mg-gcn,gcn", "--seeds", "2", "--cache", "new", *QUIET[1:]]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "mapped: needs up to " in line]
    assert [line.partition(",")[0] for line in lines] == ["mg-gcn"]


@pytest.mark.usefixtures("data")
def test_predict_refuses_too_small_a_disk(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "data", "--out", "runs", *QUIET]) == 0
    run = str(next(Path("runs").iterdir()))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=100))
    assert main(["predict", run, "--out", "scores.csv", "--mmap", "--cache", "cache"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith(" of disk, and 100 bytes are free")
    assert not Path("scores.csv").exists()


def test_the_probe_changes_nothing(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(small, tmp_path / "data")
    weights = []
    for batches in (1000, 1):
        monkeypatch.setattr(epochs, "_PROBED_BATCHES", batches)
        out = tmp_path / str(batches)
        options = ["--set", "batch_size=2", "dropout=0.5", "--out", str(out), *QUIET]
        assert main(["train", str(tmp_path / "data"), *options]) == 0
        weights.append((out / "small-mg-gcn-seed0" / "weights.safetensors").read_bytes())
    assert weights[0] == weights[1]
