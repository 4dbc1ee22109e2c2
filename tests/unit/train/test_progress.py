import io
import sys

import pytest

from mggcn.records.record import Epoch
from mggcn.train import progress


def epochs(count: int) -> list[Epoch]:
    return [Epoch(n, 1.5, 1.25, 0.5, 0.1, 0.1) for n in range(1, count + 1)]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.choose("cora", 400, quiet=False) as shown:
        for epoch in epochs(25):
            shown.epoch(epoch)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "cora  epoch    1  loss 1.5000  val loss 1.2500  val accuracy 50.00%"
    assert [int(line.split()[2]) for line in lines] == [1, 10, 20]


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "120")
    with progress.choose("cora", 400, quiet=False) as shown:
        assert isinstance(shown, progress.Bar)
        shown.epoch(epochs(7)[-1])
    assert "cora" in terminal.getvalue()
    assert "7/400" in terminal.getvalue()


def test_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.choose("cora", 400, quiet=True) as shown:
        shown.epoch(epochs(1)[0])
    assert capsys.readouterr().err == ""
