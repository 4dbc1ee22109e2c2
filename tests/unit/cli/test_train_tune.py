"""``mggcn train --tune``: the search of ``mggcn tune``, then runs with its best settings, on one bar."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mggcn.cli import main
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.experiments import _tuning as tuning
from mggcn.runs._plan import read_config
from mggcn.runs._run_folder import load_run
from mggcn.training import _environment as environment

pytest.importorskip("optuna", reason="needs the extra tune")
QUICK = ["--method", "mlp", "--set", "epochs=4", "patience=3"]
TRAIN = ["train", "data", *QUICK, "--no-report"]
FOLDER = "tune/data-mlp"


@pytest.fixture
def folder(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(environment, "reset_peak", lambda _: None)
    monkeypatch.setattr(environment, "describe", dict)
    monkeypatch.chdir(tmp_path)
    save(small, tmp_path / "data")
    return tmp_path


def test_it_trains_with_the_best_settings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TRAIN, "--tune", "3", "--seed", "5", "--json"]) == 0
    out, err = capsys.readouterr()
    *lines, last = out.splitlines()
    result = json.loads(last)
    best = read_config(Path(FOLDER) / "best.toml")
    record = load_run(result["run"]).record
    assert (record.seed, record.settings) == (5, best.settings)
    assert all(record.settings[name] == value for name, value in result["tuned"]["settings"].items() if value != "auto")
    assert lines[-1].startswith(
        f"settings        trial {result['tuned']['number']} of {FOLDER}/best.toml, val accuracy "
    )
    assert "[3/3]" in err
    assert "best settings, seed 5" in err


def test_it_is_the_search_of_tune(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "data", *QUICK, "--trials", "3", "--quiet", "--json"]) == 0
    search = json.loads(capsys.readouterr().out.splitlines()[-1])
    records = Path(FOLDER, "records.jsonl").read_text()
    assert main([*TRAIN, "--tune", "3", "--json"]) == 0
    out, err = capsys.readouterr()
    result = json.loads(out.splitlines()[-1])
    assert "3 of 3 trials are done already" in err
    assert Path(FOLDER, "records.jsonl").read_text() == records, "no trial is run again"
    assert result["tuned"] == {**search["best"], "out": FOLDER}
    assert main(["train", "data", "--method", "mlp", "--tune", "3", "--epochs", "2"]) == 2
    assert "belongs to another search (epochs 4, now 2)" in capsys.readouterr().err


def test_an_interrupted_one_continues(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fit, calls = tuning.fit_plan, []

    def interrupted(*args: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return fit(*args, **options)

    monkeypatch.setattr(tuning, "fit_plan", interrupted)
    assert main([*TRAIN, "--tune", "3"]) == 130
    assert not Path("runs").exists()
    capsys.readouterr()
    assert main([*TRAIN, "--tune", "3"]) == 0
    assert "2 of 3 trials are done already" in capsys.readouterr().err
    assert len(calls) == 4


def test_one_bar(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "140")
    assert main([*TRAIN, "--tune", "2", "--seeds", "2"]) == 0
    last = terminal.getvalue().split("small mlp")[-1]
    assert "4/4" in last
    assert "best " in last


def test_bad_calls(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main([*TRAIN, "--tune", "0"]) == 2
    assert capsys.readouterr().err == 'mggcn: error: Invalid value "0" for --tune. Must be > 0.\n'
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert main([*TRAIN, "--tune", "2"]) == 2
    assert "pip install 'mggcn[tune]'" in capsys.readouterr().err
    assert not Path("tune").exists()
