"""A command that is told to end removes what it had begun."""

import signal
import subprocess
import sys
from pathlib import Path

WAITING = """
import sys, tempfile, time
from mggcn import cli

@cli.app.command
def wait() -> None:
    with tempfile.TemporaryDirectory(dir="."):
        print("begun", flush=True)
        time.sleep(60)

sys.exit(cli.main())
"""


def test_a_command_that_is_ended_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WAITING, "wait"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True) as started:
        assert started.stdout is not None
        assert started.stderr is not None
        assert started.stdout.readline() == "begun\n"
        assert list(tmp_path.iterdir())
        started.send_signal(signal.SIGTERM)
        assert started.stderr.read() == "mggcn: ended\n"
    assert started.returncode == 128 + signal.SIGTERM
    assert not list(tmp_path.iterdir())
