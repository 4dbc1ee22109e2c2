"""Names in data cannot control the terminal that they are printed to; pipes receive them as they are."""

import io
import os
import pty
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from mggcn.cli import main
from mggcn.cli.display import Visible, visible
from mggcn.data import save
from mggcn.data._dataset import Dataset

TITLE = "\x1b]0;owned\x07"  # sets the title of a terminal


@pytest.fixture
def command(small: Dataset, tmp_path: Path) -> list[str]:
    save(replace(small, classes=("red", TITLE, "blue")), tmp_path / "data")
    return [sys.executable, "-m", "mggcn", "data", "info", str(tmp_path / "data")]


def test_control_characters_are_written_out() -> None:
    assert visible("a\x1b[31mb\tc\nd\r\x85é😀") == "a\\x1b[31mb\tc\nd\\r\\x85é😀"
    assert visible("\u202egnp.exe") == "\\u202egnp.exe"


def test_a_terminal_receives_no_control_characters_of_names(command: list[str]) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:
        pass  # how the end of a terminal is reported
    os.close(ours)
    assert process.wait() == 0
    assert b"\x1b" not in shown
    assert rb"classes     red 20, \x1b]0;owned\x07 20, blue 20" in shown


def test_a_pipe_receives_names_as_they_are(command: list[str]) -> None:
    assert TITLE in subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_rich_writes_its_own_escapes_to_the_terminal() -> None:
    terminal = io.StringIO()
    Console(file=Visible(terminal), force_terminal=True, color_system="standard").print("[red]x")
    assert "\x1b[31m" in terminal.getvalue()


def test_errors_and_warnings_are_visible_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", f"no{TITLE}"]) == 2
    assert capsys.readouterr().err.startswith(r"mggcn: error: unknown data set 'no\x1b]0;owned\x07'")
    assert main(["predict", f"no{TITLE}", "--out", "p.csv"]) == 2
    assert capsys.readouterr().err.startswith(r"mggcn: error: no\x1b]0;owned\x07: not a run folder")
