"""``mggcn bench`` on the command line."""

import json
from pathlib import Path

import pytest

from mggcn.bench import show
from mggcn.cli import main


def test_the_table_and_the_last_line(generated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "prepare", "--scale", "0.005", "--repeats", "1", "--out", str(tmp_path), "--root", str(generated)]
    assert main([*words, "--json"]) == 0
    out, err = capsys.readouterr()
    record = json.loads(out.splitlines()[-1])["prepare"]
    assert record["command"] == "mggcn bench prepare --dataset reddit-like --scale 0.005 --device cpu --repeats 1"
    assert "mean over all neighbours" in out
    assert "GB/s" in out
    assert all(line.startswith("compiling the kernel") for line in err.splitlines())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["picks"], "unknown section 'picks'; did you mean pick?"),
        (["pick", "--device", "cud"], "unknown device 'cud'; did you mean cuda or cpu?"),
        (["epoch", "--peers", "pyg,dlg"], "unknown peer 'dlg'; did you mean dgl?"),
        (["pick", "--peers", "pyg"], "--peers: only the sections epoch and baselines have peers, not pick"),
        (["baselines", "--methods", "gcn,sgd"], "unknown baseline 'sgd'; did you mean sgc"),
        (["epoch", "--methods", "gcn"], "--methods: only the section baselines has methods, not epoch"),
        (["epoch", "--dataset", "cora", "--scale", "0.5"], "--scale: cora has one size"),
        (["epoch", "--scale", "-1"], "--scale: -1 is not a positive number"),
        (["epoch", "--repeats", "0"], "--repeats: 0 is less than 1"),
        (["epoch", "--steps", "0"], "--steps: 0 is less than 1"),
        (["epoch", "--dataset", "coro"], "unknown data set 'coro'; did you mean cora"),
        (["epoch", "--peer-python", "nowhere/python"], "--peer-python: nowhere/python is not a file"),
        (["epoch", "--scale", "0.005", "--set", "hiden=3"], "unknown setting 'hiden'; did you mean hidden?"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], said: str, generated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *words, "--out", str(tmp_path), "--root", str(generated)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"mggcn: error: {said}")
    assert err.count("\n") == 1


def test_cuda_without_a_gpu_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert main(["bench", "pick", "--device", "cuda", "--out", str(tmp_path)]) == 2
    assert "there is no usable GPU" in capsys.readouterr().err


def test_an_out_that_is_a_file_is_refused_before_measuring(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["bench", "pick", "--scale", "0.005", "--out", str(tmp_path / "file")]) == 2
    assert "is not a folder" in capsys.readouterr().err


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
    assert show.amount(value, unit) == text
