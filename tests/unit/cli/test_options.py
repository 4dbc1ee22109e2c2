"""Errors of the library name parameters; the command line names its flags instead."""

from collections.abc import Callable
from pathlib import Path

import pytest

import mggcn
from mggcn import experiments
from mggcn._io.mapping import Access
from mggcn.cli import app, main, options
from mggcn.data import load_folder, save
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.ethereum import _formats as formats
from mggcn.ethereum._build import TimeSplit
from mggcn.ethereum._dates import parse_as_of
from mggcn.explore._server import listen
from mggcn.methods.settings import pairs

TINY = experiments.comparison("data", ["mlp"], seeds=1, settings={"epochs": 1})
BUILD = ["ethereum", "build", "t.parquet", "--out", "o"]
FILE = """
name = "tiny"
title = "A title"
reproduces = "nothing"
datasets = ["data"]
seeds = 1
methods = ["mlp"]
"""
BOTH: dict[str, tuple[Callable[[], object], list[str], str]] = {
    "jobs: 0 is less than 1": (
        lambda: experiments.run(TINY, jobs=0),
        ["experiment", "run", "tiny.toml", "--jobs", "0"],
        "--jobs: 0 is less than 1",
    ),
    "seeds: 0 is less than 1": (
        lambda: experiments.run(TINY, seeds=0),
        ["compare", "data", "--seeds", "0"],
        "--seeds: 0 is less than 1",
    ),
    "only: 'x' is in no data set and no label of compare": (
        lambda: experiments.run(TINY, only="x"),
        ["experiment", "run", "tiny.toml", "--only", "x"],
        "--only: 'x' is in no data set and no label of tiny.toml",
    ),
    "memory: 'much' is not an amount of memory such as 4GB": (
        lambda: Access.of(memory="much"),
        ["train", "data", "--memory", "much"],
        "--memory: 'much' is not an amount of memory such as 4GB",
    ),
    "cache: tiny.toml is not a folder": (
        lambda: Access.of(cache="tiny.toml"),
        ["train", "data", "--cache", "tiny.toml"],
        "--cache: tiny.toml is not a folder",
    ),
    "out: tiny.toml is not a folder": (
        lambda: experiments.run(TINY, out="tiny.toml"),
        ["train", "data", "--out", "tiny.toml"],
        "--out: tiny.toml is not a folder",
    ),
    "settings: 'picks' is not of the form key=value": (
        lambda: pairs(["picks"]),
        ["train", "data", "--set", "picks"],
        "--set: 'picks' is not of the form key=value",
    ),
    "port: 99999 is not between 0 and 65535": (
        lambda: listen(99999),
        ["explore", "run", "--port", "99999"],
        "--port: 99999 is not between 0 and 65535",
    ),
    "at_precision: 2 is not a share above 0 and at most 1": (
        lambda: mggcn.load_run("run").predict(at_precision=2),
        ["predict", "run", "--at-precision", "2"],
        "--at-precision: 2 is not a share above 0 and at most 1",
    ),
    "as_of: 'soon' is neither a date such as 2020-01-31 nor a time such as 2020-01-31T12:00:00": (
        lambda: parse_as_of("soon"),
        [*BUILD, "--as-of", "soon"],
        "--as-of: 'soon' is neither a date such as 2020-01-31 nor a time such as 2020-01-31T12:00:00",
    ),
    "split: 'soon' is neither random nor time:DATE,DATE": (
        lambda: TimeSplit.parse("soon"),
        [*BUILD, "--split", "soon"],
        "--split: 'soon' is neither random nor time:DATE,DATE",
    ),
    "columns: 'a' is not ROLE=COLUMN": (
        lambda: formats.parse_columns("a"),
        [*BUILD, "--columns", "a"],
        "--columns: 'a' is not ROLE=COLUMN",
    ),
    "part: a run that is not finished; mggcn.resume('part') continues it": (
        lambda: mggcn.load_run("part"),
        ["explore", "part"],
        "part: a run that is not finished; mggcn train --resume part continues it",
    ),
}


@pytest.fixture
def folder(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save(small, tmp_path / "data")
    (tmp_path / "tiny.toml").write_text(FILE)
    (tmp_path / "part" / "checkpoint").mkdir(parents=True)
    (tmp_path / "part" / "config.toml").touch()
    mggcn.fit(load_folder(tmp_path / "data"), "mlp", settings={"epochs": 1}).save(tmp_path / "run")
    return tmp_path


@pytest.mark.parametrize("message", BOTH)
def test_a_call_names_the_parameter_and_a_command_the_flag(
    message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call, command, with_flag = BOTH[message]
    with pytest.raises(InputError) as raised:
        call()
    assert str(raised.value) == message
    assert main(command) == 2
    assert capsys.readouterr().err == f"mggcn: error: {with_flag}\n"


TRANSLATED = {
    "allow it with allow_import=True": "allow it with --allow-import",
    "calibrated=False leaves it out": "--no-calibrated leaves it out",
    "rank 1: out: it is full": "rank 1: --out: it is full",
    "split 1 seed 0: memory: too little": "split 1 seed 0: --memory: too little",
    "labels=… are missing, or dataset='x', or (top=3)": "labels=… are missing, or --dataset x, or (--top 3)",
    "it is later than with_training": "it is later than --with-training",
}
KEPT = (
    "run.json: out: it is full",
    "files/out=3/a.csv: no such file",
    "train with the setting averaging=0.9",
    "seed: not an option of this command",
    "a run; out of memory",
    "with_training.csv: no such file, nor with_training=3",
)


@pytest.mark.parametrize(("message", "expected"), [*TRANSLATED.items(), *((text, text) for text in KEPT)])
def test_only_parameters_that_the_command_has_become_flags(message: str, expected: str) -> None:
    options.use_flags(app, ["predict", "run"])
    assert options.with_flags(message) == expected


def test_without_a_command_nothing_is_changed() -> None:
    options.use_flags(app, [])
    assert options.with_flags("out: it is full") == "out: it is full"
