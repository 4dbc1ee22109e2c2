"""``mggcn train --resume``: killed, interrupted and terminated runs, as processes."""

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from mggcn.cli import main
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.training._checkpoints import lock

RUN = Path("runs/small-mg-gcn-seed0")
TRAIN = ["train", "data", "--device", "cpu", "--no-report", "--set", "portfolio=none", "dropout=0.5", "patience=100000"]
_SOON = 6.0  # seconds: two on a machine that does nothing else
SLOW = """
import sys, time
import mggcn.training._loop as loop
from mggcn import cli

evaluate = loop.evaluate
def slow(*arguments):
    time.sleep({seconds})
    print("evaluated", flush=True)
    return evaluate(*arguments)
loop.evaluate = slow
sys.exit(cli.main())
"""


@pytest.fixture(autouse=True)
def folder(small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save(small, tmp_path / "data")
    return tmp_path


def start(arguments: Sequence[str], *, seconds: float = 0.01) -> subprocess.Popen[str]:
    """A command whose epochs take a little longer, so that it can be interrupted."""
    command = [sys.executable, "-c", SLOW.format(seconds=seconds), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.communicate()
    return line


def wait_for(pattern: str, process: subprocess.Popen[str]) -> None:
    while not list(Path().glob(pattern)):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def newest() -> int:
    """The epoch of the last checkpoint."""
    return max((int(path.stem) for path in RUN.glob("checkpoint/*.json")), default=0)


def weights(run: Path = RUN) -> bytes:
    return (run / "weights.safetensors").read_bytes()


def whole(epochs: int) -> bytes:
    """The weights of a run that is not interrupted."""
    assert main([*TRAIN, "--epochs", str(epochs), "--quiet", "--out", "whole"]) == 0
    return weights(Path("whole") / RUN.name)


@pytest.mark.slow
def test_a_killed_run_ends_bit_for_bit_as_if_it_had_not_been_killed() -> None:
    draw, expected = random.Random(1), whole(60)  # noqa: S311
    command = [*TRAIN, "--epochs", "60", "--checkpoint-every", "0"]
    for _ in range(3):
        before = newest()
        with start(command) as process:
            while newest() == before:
                assert process.poll() is None, process.communicate()
            time.sleep(draw.uniform(0, 0.1))
            process.kill()
        assert not (RUN / "record.json").exists()
        command = ["train", "--resume", str(RUN), "--checkpoint-every", "0", "--no-report"]
    assert main(command) == 0
    assert weights() == expected
    assert json.loads((RUN / "record.json").read_text())["resumed"] == 3


@pytest.mark.parametrize(("number", "word"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
@pytest.mark.slow
def test_a_signal_writes_a_checkpoint_and_says_how_to_continue(number: int, word: str) -> None:
    expected = whole(100)
    with start([*TRAIN, "--epochs", "100"], seconds=0.05) as process:
        evaluated = 0
        while evaluated < 3:
            evaluated += read_line(process) == "evaluated\n"
        process.send_signal(number)
        sent = time.monotonic()
        _, message = process.communicate(timeout=20)
    assert time.monotonic() - sent < _SOON
    assert process.returncode == 128 + number
    assert f"continue with: mggcn train --resume {RUN}\n" in message
    assert f"mggcn: {word}\n" in message
    assert list((RUN / "checkpoint").glob("*.json")), "none was due yet"
    assert main(["train", "--resume", str(RUN), "--quiet", "--no-report"]) == 0
    assert weights() == expected


@pytest.mark.slow
def test_two_commands_with_the_same_folder_do_not_collide() -> None:
    processes = [start([*TRAIN, "--epochs", "5"]) for _ in range(2)]
    for process in processes:
        assert process.communicate(timeout=60)[0]
        assert process.returncode == 0
    folders = [RUN, RUN.with_name(f"{RUN.name}-2")]
    assert weights(folders[0]) == weights(folders[1])


def interrupted(arguments: Sequence[str] = ()) -> None:
    with start([*TRAIN, "--epochs", "1000", "--checkpoint-every", "0", *arguments]) as process:
        wait_for("runs/*/checkpoint/*.json", process)
        process.kill()


def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], small: Dataset) -> None:
    def fails(*arguments: str) -> str:
        assert main(["train", *arguments]) == 2
        *_, line = capsys.readouterr().err.splitlines()
        return line.removeprefix("mggcn: error: ")

    interrupted()
    resume = ["--resume", str(RUN)]
    assert fails(*resume, "--set", "lr=0.5").startswith("lr: a run is resumed with its own settings")
    assert fails(*resume, "--method", "gcn").startswith("--method: a run is resumed as it was started")
    assert fails(*resume, "--seed", "3").startswith("--seed: a run is resumed as it was started")
    assert fails("digits", *resume).startswith(
        f"{RUN}: cannot be resumed with data set digits; it was started with small"
    )
    assert fails("--resume", "nowhere") == "nowhere: not a run folder (config.toml is missing)"
    assert fails("data", "--checkpoint-every", "-1") == "--checkpoint-every: -1 seconds is less than 0"
    assert sorted(path.name for path in Path("runs").iterdir()) == [RUN.name]
    with lock(RUN / "checkpoint"):
        assert fails(*resume) == f"{RUN}: open in another process, which trains this run"
    for path in (RUN / "checkpoint").glob("*.json"):
        path.write_bytes(path.read_bytes()[:-2])
    assert "damaged" in fails(*resume)
    assert main(["predict", str(RUN), "--out", "scores.csv"]) == 2
    expected = f"mggcn: error: {RUN}: a run that is not finished; mggcn train --resume {RUN} continues it\n"
    assert capsys.readouterr().err == expected
    assert main(["report", str(RUN), "--out", "report.html"]) == 2
    assert capsys.readouterr().err == expected


def test_a_finished_run_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TRAIN, "--epochs", "2", "--quiet"]) == 0
    before = {path.name: path.stat().st_mtime_ns for path in RUN.iterdir()}
    capsys.readouterr()
    assert main(["train", "--resume", str(RUN)]) == 0
    assert capsys.readouterr().out.startswith(f"{RUN} is finished after 2 epochs: test accuracy ")
    assert {path.name: path.stat().st_mtime_ns for path in RUN.iterdir()} == before


def test_a_resumed_run_may_have_more_epochs(capsys: pytest.CaptureFixture[str]) -> None:
    interrupted()
    last = newest()
    assert main(["train", "--resume", str(RUN), "--epochs", str(last + 2), "--no-report", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out.splitlines()[-1])["epochs"] == last + 2
    assert f"continues after epoch {last}, from {RUN / 'checkpoint'}" in err
