"""``--mmap`` of ``train``, ``predict`` and ``compare``."""

import csv
from pathlib import Path

import pytest

from mggcn._io.memory import size
from mggcn.cli import main
from mggcn.data import _load as datasets
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.runs import _predictions as table
from mggcn.runs import _scorer as scoring
from mggcn.runs._run_folder import load_run
from mggcn.training import _epochs as epochs

QUIET = ("--quiet", "--set", "epochs=2")


@pytest.fixture
def loads(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each load of the folder ``data`` mapped it."""
    monkeypatch.chdir(tmp_path)
    save(small, tmp_path / "data")
    mapped: list[bool] = []
    load = datasets._load

    def noted(*arguments: object) -> Dataset:
        data = load(*arguments)
        mapped.append(data.mapped is not None)
        return data

    monkeypatch.setattr(datasets, "_load", noted)
    return mapped


def weights(run: str) -> bytes:
    return Path(run, "weights.safetensors").read_bytes()


def predictions(path: Path) -> list[dict[str, str]]:
    """The rows of a file without the time at which they were scored."""
    with path.open(newline="") as file:
        return [{name: cell for name, cell in row.items() if name != "scored_at"} for row in csv.DictReader(file)]


def test_train_and_predict(loads: list[bool], capsys: pytest.CaptureFixture[str]) -> None:
    train = ["train", "data", "--method", "mlp", "--no-report", *QUIET]
    assert main([*train, "--out", "a"]) == main([*train, "--out", "b", "--mmap"]) == 0
    assert loads == [False, True]
    assert weights("a/small-mlp-seed0") == weights("b/small-mlp-seed0")
    loads.clear()
    for number, option in enumerate([[], ["--mmap"], ["--dataset", "data"], ["--dataset", "data", "--mmap"]]):
        assert main(["predict", "a/small-mlp-seed0", "--out", f"{number}.csv", *option]) == 0
        assert loads[0] == ("--mmap" in option)
        loads.clear()
    first, *others = (predictions(Path(f"{number}.csv")) for number in range(4))
    assert first
    assert all(rows == first for rows in others)


def test_compare_and_tune(loads: list[bool]) -> None:
    assert main(["compare", "data", "--methods", "mlp", "--seeds", "1", "--mmap", *QUIET]) == 0
    assert loads == [True]
    pytest.importorskip("optuna")
    assert main(["tune", "data", "--method", "mlp", "--trials", "1", "--mmap", *QUIET]) == 0
    assert loads == [True, True]


def test_a_folder_that_changes_while_training_is_one_line(
    loads: list[bool], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = epochs.Epochs.run

    def run_and_change(self: epochs.Epochs, number: int) -> float:
        Path("data", "x.npy").touch()
        return run(self, number)

    monkeypatch.setattr(epochs.Epochs, "run", run_and_change)
    assert main(["train", "data", "--method", "mlp", "--no-report", "--mmap", *QUIET]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("mggcn: error: ")] == [lines[-1]]
    assert "x.npy: changed while it was mapped" in lines[-1]


def test_the_cache_is_kept_in_the_named_folder(loads: list[bool]) -> None:
    train = ["train", "data", "--no-report", "--out", "runs", *QUIET]
    assert main([*train, "--mmap", "--cache", "kept", "--memory", "1MB"]) == 0
    assert list(Path("kept").iterdir())
    assert not Path("prepared").exists()
    assert main(["predict", "runs/small-mg-gcn-seed0", "--mmap", "--cache", "other", "--out", "p.csv"]) == 0
    assert list(Path("other").iterdir())
    assert main(["compare", "data", "--methods", "mg-gcn", "--seeds", "1", "--mmap", "--cache", "third", *QUIET]) == 0
    assert list(Path("third").iterdir())
    assert not Path("prepared").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--memory", "0.1KB"], "--memory: 100 bytes are too little for {nodes} nodes, at least {needed} are needed"),
        (["--memory", "much"], "--memory: 'much' is not an amount of memory such as 4GB"),
        (["--cache", "data/meta.json"], "--cache: data/meta.json is not a folder"),
    ],
)
def test_what_cannot_be_prepared_is_one_line(
    loads: list[bool], small: Dataset, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "data", "--no-report", "--mmap", *options, *QUIET]) == 2
    expected = message.format(nodes=f"{small.num_nodes:,}", needed=size(12 * small.num_nodes))
    assert capsys.readouterr().err.splitlines()[-1] == f"mggcn: error: {expected}"


def test_predictions_in_chunks_are_the_same_file_and_lines(
    loads: list[bool], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "data", "--no-report", "--out", "runs", "--set", "epochs=2"]) == 0
    printed = []
    for count, name in ((1000, "whole"), (4, "chunks")):
        monkeypatch.setattr(scoring, "CHUNK", count)
        monkeypatch.setattr(table, "_AT_ONCE", count)
        capsys.readouterr()
        options = ["--out", f"{name}.csv", "--top", f"{load_run('runs/small-mg-gcn-seed0').classes[0]}:5"]
        assert main(["predict", "runs/small-mg-gcn-seed0", *options, "--at-precision", "0.5"]) == 0
        printed.append(capsys.readouterr().out.replace(name, "file"))
    assert printed[0] == printed[1]
    assert predictions(Path("whole.csv")) == predictions(Path("chunks.csv"))
