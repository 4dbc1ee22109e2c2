"""``mggcn doctor`` and ``mggcn --version``."""

import json
import resource
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import torch

from mggcn.cli import main
from mggcn.kernels import threads
from mggcn.kernels.pick import PickTable


def test_version_has_a_line_on_the_environment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"mggcn {metadata.version('mggcn')}"
    assert second.startswith("Python 3.")
    assert f"torch {metadata.version('torch')}, " in second


def test_doctor_prints_every_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    raw = tmp_path / "root" / "pyg" / "Flickr" / "raw"
    raw.mkdir(parents=True)
    assert main(["doctor", "--root", str(tmp_path / "root")]) == 0
    out = capsys.readouterr().out
    for heading in ("packages", "extras", "devices", "threads", "data roots, in the order of search", "caches"):
        assert f"\n{heading}\n" in out
    assert f"  numba               {metadata.version('numba')}\n" in out
    assert f"  {tmp_path / 'root'}: pyg:Flickr\n  {tmp_path / 'cache' / 'mggcn'}: no data sets\n" in out
    assert f"  samplers            {threads.available()}\n" in out
    assert "  cpu                 ok, " in out
    assert ("  cuda  " in out) is torch.cuda.is_available()


def test_a_training_that_gives_another_result_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = PickTable.draw
    monkeypatch.setattr(PickTable, "draw", lambda *args, **options: draw(*args, **options)[:, ::-1].copy())
    assert main(["doctor"]) == 1
    assert "  cpu                 FAILED: another result than expected, " in capsys.readouterr().out
    assert main(["doctor", "--json"]) == 1
    diagnosis = json.loads(capsys.readouterr().out)
    assert diagnosis["training"][0]["problem"] == "another result than expected"
    assert diagnosis["version"] == metadata.version("mggcn")
    assert diagnosis["threads"].keys() == {"torch", "samplers"}


def test_any_exception_is_a_problem(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*_: object, **__: object) -> object:
        raise OSError("no compiler\nwas found")

    monkeypatch.setattr(PickTable, "draw", broken)
    assert main(["doctor", "--json"]) == 1
    [check, *_] = json.loads(capsys.readouterr().out)["training"]
    assert (check["device"], check["problem"]) == ("cpu", "no compiler")


def test_doctor_takes_less_than_ten_seconds_once_kernels_are_compiled() -> None:
    command = [sys.executable, "-m", "mggcn", "doctor"]
    subprocess.run(command, check=True, capture_output=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime  # a busy machine does not count
    assert seconds < 10
