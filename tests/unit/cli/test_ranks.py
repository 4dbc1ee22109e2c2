"""``mggcn train`` and ``predict`` under torchrun: killed ranks, signals, bad input and part files, as processes."""

import csv
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from mggcn.cli import main
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.training._ranks import Ranks
from tests.ranks import LIMIT, children, finished, started, torchrun

RUN = Path("runs/small-mg-gcn-seed0")
SETTINGS = ["portfolio=none", "dropout=0.5", "patience=100000", "batch_size=7"]
TRAIN = ["train", "data", "--device", "cpu", "--no-report", "--set", *SETTINGS]
RANKS = [*torchrun(2), "-m", "mggcn"]


@pytest.fixture(autouse=True)
def folder(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save(small, tmp_path / "data")
    return tmp_path


def newest() -> int:
    """The epoch of the last checkpoint."""
    return max((int(path.stem) for path in RUN.glob("checkpoint/*.json")), default=0)


def wait_for_epoch(number: int, process: subprocess.Popen[str]) -> None:
    while newest() < number:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def weights(run: Path = RUN) -> bytes:
    return (run / "weights.safetensors").read_bytes()


def read(path: Path) -> list[list[str]]:
    return list(csv.reader(path.read_text().splitlines()))


def errors(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("mggcn:")]


@pytest.mark.slow
def test_a_killed_rank_is_named_and_torchrun_starts_again_from_the_checkpoint() -> None:
    whole = finished([*RANKS, *TRAIN, "--epochs", "150", "--quiet", "--out", "whole"])
    assert whole.returncode == 0, whole.stderr
    command = ["-m", "mggcn", *TRAIN, "--epochs", "150", "--checkpoint-every", "0"]
    with started([*torchrun(2, "--max-restarts", "1"), *command]) as process:
        wait_for_epoch(2, process)
        os.kill(children(process.pid)[1], signal.SIGKILL)
        _, message = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, message
    assert "local_rank: 1" in message
    assert "continues after epoch" in message
    assert [path.name for path in Path("runs").iterdir()] == [RUN.name]
    assert weights() == weights(Path("whole") / RUN.name)
    assert json.loads((RUN / "record.json").read_text())["resumed"] == 1


@pytest.mark.slow
def test_a_signal_ends_all_ranks_and_the_run_is_resumed_by_as_many() -> None:
    command = [*RANKS, *TRAIN, "--epochs", "100000", "--checkpoint-every", "0"]
    with started(command) as process:
        wait_for_epoch(2, process)
        ranks = children(process.pid)
        process.send_signal(signal.SIGTERM)
        _, message = process.communicate(timeout=LIMIT)
    assert not any(Path(f"/proc/{rank}").exists() for rank in ranks)
    assert message.count(f"continue with: torchrun --nproc-per-node 2 -m mggcn train --resume {RUN}\n") == 1
    resume = ["train", "--resume", str(RUN), "--epochs", str(newest() + 3), "--no-report"]
    done = finished([*RANKS, *resume])
    assert done.returncode == 0, done.stderr
    assert "continues after epoch" in done.stderr
    assert "results may differ" not in done.stderr
    assert finished([*RANKS, *resume]).stdout.count("is finished after") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "nowhere/data"], "nowhere/data: no such folder"),
        (
            ["train", "data", "--method", "graphsaint"],
            "graphsaint: 2 ranks cannot train it, because its sampler draws whole batches",
        ),
    ],
)
@pytest.mark.slow
def test_bad_input_is_one_line_and_leaves_nothing(arguments: list[str], message: str) -> None:
    done = finished([*RANKS, *arguments])
    assert errors(done.stderr) == [f"mggcn: error: {message}"]
    assert "exitcode  : 2" in done.stderr
    assert [path.name for path in Path().iterdir()] == ["data"]


@pytest.mark.parametrize("command", ["compare", "tune", "experiment", "ablate"])
def test_other_commands_run_in_one_process(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main([command, "data"]) == 2
    message = f"mggcn: error: {command}: runs in one process; only train and predict run under torchrun\n"
    assert capsys.readouterr().err == message


def test_a_search_runs_in_one_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(Ranks, "current", staticmethod(lambda: Ranks(0, 2, 2)))
    assert main(["train", "data", "--tune", "3"]) == 2
    assert capsys.readouterr().err == "mggcn: error: --tune: searches in one process; leave it out under torchrun\n"


@pytest.mark.slow
def test_ranks_with_other_data_are_named(small: Dataset) -> None:
    for rank in range(2):
        Path(str(rank)).mkdir()
    shutil.move("data", "0/data")
    features = np.array(small.x)
    features[0] += 1
    save(Dataset("small", small.graph, features, small.y, small.classes, small.split), Path("1/data"))
    script = "import os, sys; os.chdir(os.environ['RANK']); from mggcn.cli import main; sys.exit(main())"
    Path("script.py").write_text(script)
    (error,) = errors(finished([*torchrun(2), "script.py", *TRAIN]).stderr)
    assert error.startswith("mggcn: error: rank 1: data set digest ")
    assert ", but rank 0 has " in error
    assert not list(Path().glob("*/runs"))


@pytest.mark.slow
def test_each_rank_writes_its_part_of_the_predictions() -> None:
    assert main([*TRAIN, "--epochs", "3", "--quiet"]) == 0
    assert main(["predict", str(RUN), "--out", "whole.csv"]) == 0
    done = finished([*RANKS, "predict", str(RUN), "--out", "part.csv", "--embeddings", "part.npy"])
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1] == "60 predictions in part-*-of-00002.csv"
    parts = [read(path) for path in sorted(Path().glob("part-*.csv"))]
    rows, expected = [*parts[0], *parts[1][1:]], read(Path("whole.csv"))
    assert [row[:3] for row in rows] == [row[:3] for row in expected]
    values, wanted = (np.array([row[3:6] for row in table[1:]], float) for table in (rows, expected))
    np.testing.assert_allclose(values, wanted, atol=1e-6)
    position = rows[0].index("position_in_class")
    assert sorted(int(row[position]) for row in rows[1:]) == sorted(int(row[position]) for row in expected[1:])
    assert [np.load(path).shape[0] for path in sorted(Path().glob("part-*.npy"))] == [30, 30]
