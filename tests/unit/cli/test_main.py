"""The end of the process: at once, but after everything that was registered for it, and with the right exit code."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import atexit, sys, tempfile
from mggcn.__main__ import main
class Freed:
    def __del__(self):
        print("freed")
sys.argv = ["mggcn", *{words!r}]
kept = sys.modules["kept"] = Freed()
code = main()
folder = tempfile.TemporaryDirectory(dir=".")
atexit.register(print, "registered")
sys.exit(code)
"""


@pytest.mark.parametrize(("words", "code"), [(["--version"], 0), (["train", "no-such-data"], 2)])
def test_a_command_ends_without_freeing_every_object(words: list[str], code: int, tmp_path: Path) -> None:
    script = SCRIPT.format(words=words)
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stdout.splitlines()[-1] == "registered"
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_ours_is_still_shown(tmp_path: Path) -> None:
    script = "import sys; from mggcn import cli, __main__; cli.main = lambda: 1 / 0; sys.exit(__main__.main())"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")
