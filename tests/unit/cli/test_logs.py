"""``--log-level``: which lines go to standard error, and that Python's logging has the same ones."""

import logging
import re
from pathlib import Path

import pytest

import mggcn
from mggcn.cli import main
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.methods import published

TRAIN = ["train", "data", "--no-report", "--epochs", "2", "--quiet"]


@pytest.fixture(autouse=True)
def _folder(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(small, tmp_path / "data")


def test_nothing_is_logged_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(TRAIN) == 0
    assert capsys.readouterr().err == ""
    assert logging.getLogger("mggcn").handlers == []


@pytest.mark.parametrize("command", [[*TRAIN, "--log-level", "info"], ["--log-level", "info", *TRAIN]])
def test_info_says_what_took_how_long(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 0
    out, err = capsys.readouterr()
    loaded, run, trained, *others, scored = err.splitlines()
    assert re.fullmatch(r"mggcn: info: .*data: loaded in [\d.]+ s: .*", loaded)
    assert run.startswith("mggcn: info: mg-gcn on small, seed 0, on ")
    assert re.fullmatch(r"mggcn: info: prepared in [\d.]+ s, trained 2 epochs in [\d.]+ s", trained)
    assert len(others) == 2 * (len(published.portfolio("mg-gcn")) - 1), "the same two lines for each recipe"
    assert re.fullmatch(r"mggcn: info: scored 18 test nodes in [\d.]+ s", scored)
    assert "mggcn: info" not in out


def test_debug_says_where_it_searched_and_which_path_was_taken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MGGCN_DATA", str(tmp_path / "root"))
    assert main([*TRAIN, "--set", "layers=2", "--log-level", "debug", "--device", "cpu"]) == 0
    err = capsys.readouterr().err
    assert f"mggcn: debug: data roots: {tmp_path / 'root'}, " in err
    assert "mggcn: debug: inputs: DenseInputs, sampler: MixGrainedSampler, prepared in " in err


def test_predictions_are_logged(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(TRAIN) == 0
    capsys.readouterr()
    assert main(["predict", "runs/small-mg-gcn-seed0", "--out", "scores.csv", "--log-level", "info"]) == 0
    assert re.search(r"mggcn: info: small: scored 60 nodes on \w+ in [\d.]+ s", capsys.readouterr().err)


def test_other_levels_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TRAIN, "--log-level", "loud"]) == 2
    assert 'mggcn: error: Invalid value "loud" for --log-level.' in capsys.readouterr().err


def test_python_has_the_same_lines(small: Dataset, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "mggcn"):
        mggcn.fit(small, settings={"epochs": 1, "portfolio": "none"})
    assert [record.name for record in caplog.records] == ["mggcn.runs._trained"] * 2 + ["mggcn.runs._fitting"]
    assert "trained 1 epochs" in caplog.text
