"""``mggcn doctor`` and ``mggcn --version``."""

import json
import resource
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
import torch

from mggcn.cli import doctor_kernels as _kernels
from mggcn.cli import main
from mggcn.kernels import threads


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
    assert "  pick            cpu   ok " in out
    assert f"{out.count(' ok ')} of {out.count(' ok ')} as expected" in out.splitlines()[-1]
    assert ("no GPU" in out) is not torch.cuda.is_available()


def test_a_kernel_that_differs_is_named_and_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_kernels, "induce", lambda *_: np.zeros((6, 4, 4)))
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    [line] = [line for line in out.splitlines() if "FAILED" in line]
    assert line.split()[:3] == ["induce", "cpu", "FAILED"]
    assert line.endswith("another result than expected")
    assert main(["doctor", "--json"]) == 1
    diagnosis = json.loads(capsys.readouterr().out)
    assert {check["kernel"] for check in diagnosis["kernels"] if check["problem"]} == {"induce"}
    assert diagnosis["version"] == metadata.version("mggcn")
    assert diagnosis["threads"].keys() == {"torch", "samplers"}


def test_doctor_takes_less_than_ten_seconds_once_kernels_are_compiled() -> None:
    command = [sys.executable, "-m", "mggcn", "doctor"]
    subprocess.run(command, check=True, capture_output=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime  # a busy machine does not count
    assert seconds < 10
