"""A command that is interrupted or terminated ends soon, with one line and its exit code, and leaves nothing."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mggcn._io.temporary import is_temporary
from mggcn.data import save
from mggcn.data._dataset import Dataset

pytestmark = pytest.mark.slow

ENDINGS = [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")]
COMMAND = """
import sys, time
from pathlib import Path
from mggcn import cli
from mggcn._io import temporary

@cli.app.command
def wait() -> None:
    with temporary.temporary_folder(Path("out")):
        try:
            print("started", flush=True)
            {body}
        finally:
            {last}

sys.exit(cli.main())
"""
WAIT = "[time.sleep(0.1) for _ in range(600)]"  # not one sleep: a signal just before it is handled after it
OWN_ERROR = """
            try:
                [time.sleep(0.1) for _ in range(600)]
            except BaseException:
                raise {error}"""
BODIES = {
    "in Python": (WAIT, "pass"),
    "in a kernel, during which Python handles no signal": (
        "import hashlib; hashlib.pbkdf2_hmac('sha256', b'', b'', 10**6)",
        "pass",
    ),
    "in a library with an error of its own": (OWN_ERROR.format(error="RuntimeError('Query interrupted')"), "pass"),
    "in a library whose error is bad input": (OWN_ERROR.format(error="cli.InputError('t.csv: interrupted')"), "pass"),
    "in a destructor, where Python loses what is raised": (
        f"type('Slow', (), {{'__del__': lambda self: time.sleep(1)}})(); {WAIT}",
        "pass",
    ),
}
QUERY = "select sum(a.range * b.range % 7) from range(1000000) a, range(1000000) b"


def end(command: list[str], folder: Path, number: int) -> tuple[int, str, float]:
    """Start a command, send it a signal when it says that it has started; its exit code, output and time to end."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "started\n"
        started = time.monotonic()
        process.send_signal(number)
        error = process.stderr.read()
    return process.returncode, error, time.monotonic() - started


@pytest.mark.parametrize(("number", "word"), ENDINGS)
@pytest.mark.parametrize("where", BODIES)
def test_a_command_ends_with_one_line_and_leaves_nothing(tmp_path: Path, where: str, number: int, word: str) -> None:
    body, last = BODIES[where]
    code, error, seconds = end([sys.executable, "-c", COMMAND.format(body=body, last=last), "wait"], tmp_path, number)
    assert (code, error) == (128 + number, f"mggcn: {word}\n")
    assert seconds < 30, "60 seconds if it were not ended"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "word"), ENDINGS)
def test_a_command_ends_while_libraries_are_imported(tmp_path: Path, number: int, word: str) -> None:
    slow = tmp_path / "cyclopts.py"
    slow.write_text("import time\nprint('started', flush=True)\ntime.sleep(60)\n")
    script = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from mggcn.__main__ import main; sys.exit(main())"
    code, error, _ = end([sys.executable, "-c", script], tmp_path, number)
    assert (code, error) == (128 + number, f"mggcn: {word}\n")


@pytest.mark.parametrize(("number", "word"), ENDINGS)
def test_duckdb_is_interrupted(tmp_path: Path, number: int, word: str) -> None:
    body = f"import duckdb; duckdb.sql({QUERY!r}).fetchall()"
    code, error, _ = end([sys.executable, "-c", COMMAND.format(body=body, last="pass"), "wait"], tmp_path, number)
    assert (code, error) == (128 + number, f"mggcn: {word}\n")
    assert list(tmp_path.iterdir()) == []


LOADING = """
            from mggcn.cli import process
            def wait_for_the_signal():
                print("started", flush=True)
                while not process.received_signal():
                    time.sleep(0.001)
                Path("complete").touch()
            code = "def load(notify): notify()"
            exec(code, llvm := {"__name__": "llvmlite.binding"})
            llvm["load"](wait_for_the_signal)
            [time.sleep(0.1) for _ in range(600)]"""


@pytest.mark.parametrize(("number", "word"), ENDINGS)
def test_numba_completes_the_kernel_that_it_is_loading(tmp_path: Path, number: int, word: str) -> None:
    command = COMMAND.replace('print("started", flush=True)', "pass").format(body=LOADING, last="pass")
    code, error, _ = end([sys.executable, "-c", command, "wait"], tmp_path, number)
    assert (code, error) == (128 + number, f"mggcn: {word}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["complete"]


STARTING = """
import os, sys
from mggcn.__main__ import main
at = {at!r}
def send(frame, event, _):
    if event == "call" and frame.f_code.co_name == at:
        sys.setprofile(None)
        print("started", flush=True)
        os.kill(os.getpid(), {number})
sys.setprofile(send)
sys.argv = ["mggcn", "data", "list"]
sys.exit(main())
"""


@pytest.mark.parametrize(("number", "word"), ENDINGS)
@pytest.mark.parametrize("at", ["handle_signals", "_main"])
def test_a_signal_between_the_parts_of_a_command_is_one_line(tmp_path: Path, at: str, number: int, word: str) -> None:
    script = STARTING.format(at=at, number=int(number))
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "started" in done.stdout
    assert (done.returncode, done.stderr) == (128 + number, f"mggcn: {word}\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_after_a_command_is_complete_is_ignored(tmp_path: Path, number: int) -> None:
    script = STARTING.format(at="received_signal", number=int(number))
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "started" in done.stdout
    assert (done.returncode, done.stderr) == (0, "")


CLEANUP = COMMAND.format(body=WAIT, last='print("cleaning", flush=True); time.sleep(60)')


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_ctrl_c_ends_at_once_what_cleans_up(tmp_path: Path, number: int) -> None:
    command = [sys.executable, "-c", CLEANUP, "wait"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        process.send_signal(number)
        assert process.stdout.readline() == "cleaning\n"
        process.send_signal(signal.SIGTERM)  # as torchrun sends it, too, after Ctrl-C
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == -signal.SIGINT


EXPERIMENT = """
name = "tiny"
title = "A title"
reproduces = "nothing"
datasets = ["data"]
seeds = 4
methods = ["mlp", "gcn"]
settings = { epochs = 1000, patience = 1000 }
"""
JOBS = ["-m", "mggcn", "experiment", "run", "tiny.toml", "--jobs", "2", "--device", "cpu", "--quiet"]
AFTER = {  # seconds from when the first worker runs Python
    "when a worker starts": 0.0,
    "while Python starts": 0.03,
    "while the first modules are imported": 0.2,
    "while torch is imported": 0.6,
    "while the rest is imported": 1.5,
    "while runs are trained": 6.0,
}


def workers_of(pid: int) -> list[int]:
    """The children of a process that multiprocessing started to work."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's list of child processes")
@pytest.mark.parametrize(
    ("moment", "number", "word"),
    [*((moment, *ENDINGS[0]) for moment in AFTER), ("when a worker starts", *ENDINGS[1])],
)
def test_workers_that_are_interrupted_print_nothing(
    small: Dataset, tmp_path: Path, moment: str, number: int, word: str
) -> None:
    save(small, tmp_path / "data")
    (tmp_path / "tiny.toml").write_text(EXPERIMENT)
    with subprocess.Popen(
        [sys.executable, *JOBS], cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stderr is not None
        while not (workers := workers_of(process.pid)):
            assert process.poll() is None
            time.sleep(0.002)
        time.sleep(AFTER[moment])
        os.killpg(process.pid, number)  # as a terminal sends Ctrl-C to all processes
        error = process.stderr.read()  # until the last process that has it ends
    assert (process.returncode, error) == (128 + number, f"mggcn: {word}\n")
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)
    assert [path for path in tmp_path.rglob("*") if is_temporary(path.name)] == []
