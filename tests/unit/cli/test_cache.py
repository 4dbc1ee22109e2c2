"""``mggcn data cache``."""

from pathlib import Path

import pytest

from mggcn.cli import main
from mggcn.data import save
from mggcn.data._dataset import Dataset


def test_a_mapped_run_keeps_what_it_prepared_until_it_is_cleared(
    small: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data"
    save(small, folder)
    alone = ["--set", "portfolio=none"]
    assert main(["train", str(folder), "--mmap", "--epochs", "1", *alone, "--out", str(tmp_path / "run")]) == 0
    capsys.readouterr()
    assert main(["data", "cache", "list", str(folder)]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == 3
    assert any("name small, graph whole, rows fine, hops 1, norm mean, include_self True" in line for line in listed)
    assert main(["data", "cache", "clear", str(folder)]) == 0
    assert capsys.readouterr().out == listed[-1].replace("in all", "removed") + "\n"
    assert not list((tmp_path / "prepared").iterdir())


def test_another_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "cache", "clear", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"mggcn: error: {tmp_path}: not a dataset folder (meta.json is missing)\n"
