"""``mggcn predict`` with several runs and with smoothing."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mggcn import storage
from mggcn.cli import main
from mggcn.dataset import Dataset
from mggcn.run import ensemble, load_run

RUNS = ("runs/small-mlp-seed0", "runs/small-mlp-seed1")


@pytest.fixture
def folder(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    storage.save(small, tmp_path / "data")
    return tmp_path


def train(*options: str) -> None:
    assert main(["train", "data", "--method", "mlp", "--no-report", "--quiet", "--epochs", "3", *options]) == 0


def test_the_mean_of_two_runs(folder: Path, small: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    train("--seeds", "2")
    capsys.readouterr()
    assert main(["predict", *RUNS, "--out", "p.csv", "--top", "red:2"]) == 0
    out = capsys.readouterr().out
    together = ensemble([load_run(run) for run in RUNS])
    test = small.split.test
    accuracy = (together.labels[test] == small.y[test]).mean()
    assert f"18 test nodes: accuracy {accuracy:.2%}, macro-F1 " in out
    assert "(mean probabilities of 2 runs)" in out
    assert "top 2 for red" in out
    rows = [line.split(",") for line in Path("p.csv").read_text().splitlines()[1:]]
    np.testing.assert_allclose([[float(p) for p in row[2:]] for row in rows], together.probabilities, rtol=1e-6)


def test_runs_that_do_not_match(folder: Path, small: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    train()
    storage.save(replace(small, classes=("a", "b", "c"), name="other"), folder / "other")
    assert main(["train", "other", "--method", "mlp", "--no-report", "--quiet", "--epochs", "1"]) == 0
    capsys.readouterr()
    assert main(["predict", RUNS[0], "runs/other-mlp-seed0", "--out", "p.csv"]) == 2
    assert "other-mlp-seed0: classes a, b, c, but " in capsys.readouterr().err
    assert main(["predict", RUNS[0], RUNS[0], "--embeddings", "e.npy"]) == 2
    assert capsys.readouterr().err == ("mggcn: error: --embeddings: those of 2 runs cannot be averaged; name one run\n")
    assert main(["predict", RUNS[0], "nowhere", "--out", "p.csv"]) == 2
    assert "nowhere: not a run folder" in capsys.readouterr().err
    assert not Path("p.csv").exists()


def test_smoothing_is_printed_on_a_line_of_its_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train("--json")
    plain, last = capsys.readouterr().out.rsplit("\n", 2)[:2]
    assert "smoothed" not in plain + last
    train("--json", "--set", "smooth=true")
    *lines, last = capsys.readouterr().out.splitlines()
    result, before = json.loads(last), json.loads(last)["smoothed"]
    (line,) = [line for line in lines if line.startswith("smoothed")]
    assert line.startswith(f"smoothed        {before['test_accuracy']:.2%}, macro-F1 {before['test_macro_f1']:.2%} ")
    assert f"share {before['share']:g}, chosen on validation nodes" in line
    assert f"test accuracy   {result['test_accuracy']:.2%}" in lines[0]
    assert main(["predict", result["run"], "--smooth", "--out", "p.csv"]) == 0
    assert f"18 test nodes: accuracy {before['test_accuracy']:.2%}, macro-F1" in capsys.readouterr().out
    assert main(["predict", RUNS[0], "--smooth", "--out", "p.csv"]) == 2
    assert "was trained without it; train with the setting smooth=true" in capsys.readouterr().err


def test_smoothing_of_several_seeds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train("--json", "--set", "smooth=true", "--seeds", "2")
    *lines, last = capsys.readouterr().out.splitlines()
    result = json.loads(last)
    mean = np.mean([run["smoothed"]["test_accuracy"] for run in result["runs"]])
    assert result["smoothed"]["test_accuracy"] == pytest.approx(mean)
    assert any(line.startswith(f"smoothed        {mean:.2%} ± ") for line in lines)


def test_labels_that_smoothing_reads_are_not_scored(
    folder: Path, small: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    train("--set", "smooth=true")
    storage.save(replace(small, name="new", split=None), folder / "new")
    capsys.readouterr()
    assert main(["predict", RUNS[0], "--dataset", "new", "--smooth", "--out", "p.csv"]) == 0
    out = capsys.readouterr().out
    assert "60 labelled nodes are not scored: --smooth reads their labels" in out
    assert "accuracy" not in out
