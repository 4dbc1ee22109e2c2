"""Commands that write to one name at the same time: one succeeds, and the others say that they did not."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mggcn.cli import main
from mggcn.data import load_folder

pytestmark = pytest.mark.slow

PROCESSES = 4


def start(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "mggcn", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_of_imports_into_one_folder_one_succeeds(tmp_path: Path) -> None:
    ring = np.arange(60)
    fields = {"num_nodes": 60, "edge_index": np.stack([ring, (ring + 1) % 60]), "y": ring % 2}
    for number in range(PROCESSES):
        np.savez(tmp_path / f"{number}.npz", x=np.full((60, 1), number, np.float32), **fields)
    out = tmp_path / "out" / "data"
    processes = [start("data", "import", str(tmp_path / f"{number}.npz"), "--out", str(out)) for number in range(4)]
    shown = [process.communicate(timeout=120) for process in processes]
    codes = [process.returncode for process in processes]
    assert sorted(codes) == [0, 2, 2, 2], shown
    assert float(load_folder(out).x[0, 0]) == codes.index(0)
    for (_, error), code in zip(shown, codes, strict=True):
        if code:
            assert error.strip().endswith(("data: another command is writing it", "data: already exists"))
            assert error.count("\n") == 1
    assert [path.name for path in out.parent.iterdir()] == ["data"]


def test_of_trainings_into_one_folder_all_results_are_kept(tmp_path: Path) -> None:
    assert main(["data", "get", "digits"]) == 0
    command = ["train", "digits", "--method", "mlp", "--epochs", "1", "--no-report", "--quiet", "--out", str(tmp_path)]
    processes = [start(*command) for _ in range(PROCESSES)]
    shown = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0] * PROCESSES, shown
    folders = sorted(path.name for path in tmp_path.iterdir())
    assert folders == ["digits-mlp-seed0", *(f"digits-mlp-seed0-{number}" for number in range(2, PROCESSES + 1))]
    assert all((tmp_path / folder / "record.json").is_file() for folder in folders)
