"""No command imports what a file names, unless --allow-import is given."""

import itertools
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cyclopts import App

import mggcn
from mggcn import experiments
from mggcn._io.files import checksummed
from mggcn.cli import app, main
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError

MODULE = """
from dataclasses import dataclass
from pathlib import Path
from mggcn.methods import FeatureMLP
from mggcn.nn import MeanConv

(Path(__file__).parent / "imported").touch()

@dataclass(frozen=True)
class Mine(FeatureMLP):
    pass

def conv(*channels):
    return MeanConv(*channels)
"""
EXPERIMENT = """
name = "{name}"
title = "A title"
reproduces = "nothing"
datasets = ["data"]
seeds = 1
{rest}
"""
PLACES = {
    "method": 'methods = ["evil:Mine"]\nsettings = { epochs = 1 }',
    "setting": 'methods = ["mg-gcn"]\nsettings = { epochs = 1, conv = "evil:conv" }',
    "row": '[[variant]]\nlabel = "a"\nmethod = "mg-gcn"\nsettings = { epochs = 1, conv = "evil:conv" }',
    "on": '[[variant]]\nlabel = "a"\nmethod = "mg-gcn"\non = { data = { epochs = 1, conv = "evil:conv" } }',
}
QUIET = ["--device", "cpu", "--quiet"]
REFUSED = {
    "train": [
        ["train", "--config", "config.toml", "--epochs", "1", *QUIET],
        ["train", "--config", "setting.toml", *QUIET],
        ["train", "--config", "warm.toml", *QUIET],
        ["train", "data", "--warm-start", "finished", "--epochs", "1", *QUIET],
        ["train", "--resume", "unfinished", "--quiet"],
        ["train", "--resume", "finished", "--quiet"],
    ],
    "predict": [["predict", "finished", "--out", "p.csv"], ["predict", "finished", "clean", "--out", "p.csv"]],
    "explore": [["explore", "finished"]],
    "experiment run": [["experiment", "run", f"{place}/a.toml", *QUIET] for place in PLACES],
    "experiment list": [["experiment", "list", place] for place in PLACES],
    "experiment status": [["experiment", "status", f"{place}/a.toml", "--device", "cpu"] for place in PLACES],
}
"""Commands that need what a file names; each is refused."""
WITHOUT = {
    "compare": [
        ["compare", "data", "--methods", "mlp", "--seeds", "1", "--set", "epochs=1", "--out", "compared", *QUIET]
    ],
    "ablate": [["ablate", "data", "--seeds", "1", "--set", "epochs=1", "--out", "compared", *QUIET]],
    "report": [["report", "finished", "compared", "--out", "page.md", "--format", "md"]],
}
"""Commands that read such files without what they name; each succeeds."""
READ_NO_NAMES = {"methods", "doctor", "data", "ethereum", "--install-completion"}
"""Commands whose files hold no names of methods and settings; names on the command line are the user's own."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that name code, as someone makes them on another machine."""
    from tests.conftest import small_dataset

    folder = tmp_path_factory.mktemp("made")
    (folder / "evil.py").write_text(MODULE)
    save(small_dataset(), folder / "data")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        start = ["train", "data", "--method", "evil:Mine", "--epochs", "2", *QUIET, "--no-report"]
        assert main(start) == 0
        assert main([*start[:3], "mlp", *start[4:]]) == 0
        compare = ["compare", "data", "--methods", "evil:Mine", "--seeds", "1", "--set", "epochs=1"]
        assert main([*compare, "--out", "compared", *QUIET]) == 0
    (folder / "runs" / "small-Mine-seed0").rename(folder / "finished")
    (folder / "runs" / "small-mlp-seed0").rename(folder / "clean")
    (folder / "unfinished" / "checkpoint").mkdir(parents=True)
    config = (folder / "finished" / "config.toml").read_text()
    for name in ("unfinished/config.toml", "config.toml"):
        (folder / name).write_text(config)
    setting = 'dataset = "data"\nmethod = "mg-gcn"\n[settings]\nepochs = 1\nconv = "evil:conv"\n'
    (folder / "setting.toml").write_text(setting)
    (folder / "warm.toml").write_text('dataset = "data"\nmethod = "mlp"\nwarm_start = "finished"\n')
    for place, rest in PLACES.items():
        (folder / place).mkdir()
        (folder / place / "a.toml").write_text(EXPERIMENT.format(name=place, rest=rest))
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    (folder / "imported").unlink()
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of them as the working folder, from which Python would import the module."""
    copy = tmp_path / "copy"
    shutil.copytree(made, copy)
    monkeypatch.chdir(copy)
    monkeypatch.syspath_prepend(copy)
    sys.modules.pop("evil", None)
    yield copy
    sys.modules.pop("evil", None)


def commands_of(group: App, name: str = "") -> Iterator[str]:
    for each in group:
        if not each.startswith("-") or each == "--install-completion":
            inner = f"{name} {each}".strip()
            yield from (
                [inner]
                if inner in READ_NO_NAMES or not list(commands_of(group[each]))
                else commands_of(group[each], inner)
            )


def test_the_lists_hold_every_command() -> None:
    assert set(commands_of(app)) == {*REFUSED, *WITHOUT, *READ_NO_NAMES, "tune"}


@pytest.mark.parametrize("command", list(itertools.chain(*REFUSED.values())), ids=" ".join)
def test_a_command_imports_nothing_that_a_file_names(
    command: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 2
    error = capsys.readouterr().err
    assert "names code to import (evil:" in error
    assert "if you trust it, allow it with --allow-import" in error
    assert error.count("\n") == 1
    assert not (folder / "imported").exists()
    if command[0] != "explore" and "warm.toml" not in command:  # which serve a page, or start from another method
        assert main([*command, "--allow-import"]) == 0, "with consent it works"
        assert (folder / "imported").exists() or command[:2] == ["experiment", "list"]


@pytest.mark.parametrize("command", list(itertools.chain(*WITHOUT.values())), ids=" ".join)
def test_a_command_reads_records_of_own_methods_without_their_code(command: list[str], folder: Path) -> None:
    assert main(command) == 0
    assert not (folder / "imported").exists()


CALLS: dict[str, Callable[..., object]] = {
    "load_run": lambda **consent: mggcn.load_run("finished", **consent),
    "resume": lambda **consent: mggcn.resume("unfinished", **consent),
    "experiments.read": lambda **consent: experiments.read("setting/a.toml", **consent),
    "experiments.run": lambda **consent: experiments.run("setting/a.toml", device="cpu", **consent),
    "experiments.status": lambda **consent: experiments.status("setting/a.toml", device="cpu", **consent),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_imports_nothing_that_a_file_names(call: str, folder: Path) -> None:
    with pytest.raises(InputError, match=r"names code to import \(evil:.*allow it with allow_import=True$"):
        CALLS[call]()
    assert not (folder / "imported").exists()
    CALLS[call](allow_import=True)
    assert (folder / "imported").exists()


def test_a_warm_start_from_a_folder_imports_nothing(folder: Path, small: Dataset) -> None:
    with pytest.raises(InputError, match="names code to import"):
        mggcn.fit(small, warm_start="finished")
    assert not (folder / "imported").exists()


def test_a_search_takes_no_values_from_its_log_that_it_does_not_try(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("optuna", reason="needs the extra tune")
    search = ["data", "--set", "epochs=1", *QUIET]
    assert main(["tune", *search, "--trials", "1"]) == 0
    log = folder / "tune" / "data-mg-gcn" / "trials.jsonl"
    header, line = log.read_bytes().splitlines(keepends=True)
    trial = {name: value for name, value in json.loads(line).items() if name != "checksum"}
    trial["settings"]["conv"] = "evil:conv"
    log.write_bytes(header + checksummed(json.dumps(trial), " ") + b"\n")
    capsys.readouterr()
    for command in (["tune", *search, "--trials", "2"], ["train", *search, "--tune", "1", "--no-report"]):
        assert main(command) == 2
        assert "trials.jsonl: trial 1: settings: conv is only in the trial" in capsys.readouterr().err
    assert not (folder / "imported").exists()
