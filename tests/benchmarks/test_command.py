"""``python -m benchmarks.speed`` on the command line."""

import json
from pathlib import Path

import pytest

from benchmarks.speed import page
from benchmarks.speed.__main__ import main


def test_a_record_is_written_and_printed(generated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["prepare", "--scale", "0.005", "--repeats", "1", "--out", str(tmp_path / "new"), "--root", str(generated)]
    assert main(words) == 0
    record = json.loads((tmp_path / "new" / "prepare-reddit-like-0.005-cpu.json").read_text())
    command = "python -m benchmarks.speed prepare --dataset reddit-like --scale 0.005 --device cpu --repeats 1"
    assert record["command"] == command
    out, err = capsys.readouterr()
    assert command in out
    assert "mean over all neighbours" in out
    assert "GB/s" in out
    assert all(line.startswith("compiling the kernel") for line in err.splitlines())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["picks"], "argument what: invalid choice: 'picks'"),
        (["pick", "--device", "cud"], "argument --device: invalid choice: 'cud'"),
        (["epoch", "--libraries", "pyg", "dlg"], "argument --libraries: invalid choice: 'dlg'"),
        (
            ["pick", "--libraries", "pyg"],
            "--libraries: only the sections epoch and baselines time other libraries",
        ),
        (["baselines", "--methods", "gcn", "sgd"], "argument --methods: invalid choice: 'sgd'"),
        (["epoch", "--methods", "gcn"], "--methods: only the section baselines has methods, not epoch"),
        (["epoch", "--dataset", "cora", "--scale", "0.5"], "--scale: cora has one size"),
        (["epoch", "--set", "hidden"], "--set: 'hidden' is not of the form key=value"),
        (["epoch", "--scale", "-1"], "argument --scale: -1 is not a positive number"),
        (["epoch", "--scale", "nan"], "argument --scale: nan is not a positive number"),
        (["epoch", "--repeats", "0"], "argument --repeats: 0 is not a positive number"),
        (["epoch", "--runs", "0"], "argument --runs: 0 is not a positive number"),
        (
            ["pick", "--preset", "default"],
            "--preset: only epoch, without --libraries, and wait have the preset default",
        ),
        (["epoch", "--preset", "default", "--libraries", "pyg"], "--preset: only epoch, without --libraries"),
        (["epoch", "--steps", "0"], "argument --steps: 0 is not a positive number"),
        (["epoch", "--library-python", "nowhere/python"], "--library-python: nowhere/python is not a file"),
    ],
)
def test_a_wrong_command_line_is_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    assert f"python -m benchmarks.speed: error: {message}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["epoch", "--dataset", "coro"], "unknown data set 'coro'; did you mean cora"),
        (["epoch", "--scale", "0.005", "--set", "hiden=3"], "unknown setting 'hiden'; did you mean hidden?"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], message: str, generated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--out", str(tmp_path), "--root", str(generated)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}")
    assert err.count("\n") == 1


def test_cuda_without_a_gpu_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert main(["pick", "--device", "cuda", "--out", str(tmp_path)]) == 2
    assert "there is no usable GPU" in capsys.readouterr().err


def test_an_out_that_is_a_file_is_refused_before_measuring(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["pick", "--scale", "0.005", "--out", str(tmp_path / "file")]) == 2
    assert "File exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (12.34, "s", "12.3 s"),
        (0.0123, "s", "12.3 ms"),
        (4e-6, "s", "4 µs"),
        (5e9, "B/s", "5 GB/s"),
        (2**31, "B", "2,048 MiB"),
    ],
)
def test_amounts_read_well(value: float, unit: str, text: str) -> None:
    assert page.amount(value, unit) == text
