"""A command that is terminated removes its temporary files."""

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
        print("started", flush=True)
        time.sleep(60)

sys.exit(cli.main())
"""


def test_a_terminated_command_leaves_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WAITING, "wait"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "started\n"
        assert list(tmp_path.iterdir())
        process.send_signal(signal.SIGTERM)
        assert process.stderr.read() == "mggcn: terminated\n"
    assert process.returncode == 128 + signal.SIGTERM
    assert not list(tmp_path.iterdir())
