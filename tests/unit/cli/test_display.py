"""The progress display and the table printer that all commands share."""

import doctest
import io
import sys

import pytest

from mggcn.cli import display
from mggcn.training._record import Epoch


def epochs(count: int) -> list[Epoch]:
    return [Epoch(n, 1.5, 1.25, 0.5, 0.1, 0.1) for n in range(1, count + 1)]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def a_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "120")
    return terminal


def test_epochs_as_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with display.EpochDisplay("cora", 400) as shown:
        for epoch in epochs(25):
            shown.epoch(epoch)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "cora  epoch    1  loss 1.5000  val loss 1.2500  val accuracy 50.00%"
    assert [int(line.split()[2]) for line in lines] == [1, 10, 20]


def test_epochs_as_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    with display.EpochDisplay("cora", 400) as shown:
        shown.epoch(epochs(7)[-1])
    assert "cora" in terminal.getvalue()
    assert "7/400" in terminal.getvalue()
    assert "val accuracy 50.00%" in terminal.getvalue()


def test_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with display.EpochDisplay("cora", 400, quiet=True) as shown:
        shown.epoch(epochs(1)[0])
    with display.StageDisplay(quiet=True) as stages:
        stages.update("read", 1, 2)
    assert capsys.readouterr().err == ""


def test_stages_as_lines_with_the_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    shown = display.StageDisplay(clock=lambda: now)
    for now, done in ((0.0, 0), (10.0, 1), (40.0, 4), (60.0, 6), (100.0, 1_000)):  # noqa: B007
        shown.update("pages", done, 1_000)
    assert capsys.readouterr().err.splitlines() == [
        "pages: 0 of 1,000",
        "pages: 4 of 1,000, about 2:46:00 left",
        "pages: 1,000 of 1,000",
    ]


def test_a_stage_of_unknown_length(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    shown = display.StageDisplay(clock=lambda: now)
    for now, done in ((0.0, 1_000), (10.0, 2_000), (40.0, 3_000)):  # noqa: B007
        shown.update("rows", done, None)
    assert capsys.readouterr().err.splitlines() == ["rows: 1,000", "rows: 3,000"]


def test_a_live_display_shows_bars_and_no_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = a_terminal(monkeypatch)
    with display.Display(remaining=True) as shown:
        shown.show(lambda: "a table")
        shown.line("not written")
        shown.bar("pages", 3, 10, "soon")
    assert "not written" not in terminal.getvalue()
    for part in ("a table", "pages", "3/10", "soon"):
        assert part in terminal.getvalue()


def test_a_transient_display_leaves_nothing_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    with display.Display(transient=True) as shown:
        shown.bar("rows", 1, None)
    assert capsys.readouterr().err == ""


def test_columns_are_aligned() -> None:
    assert doctest.testmod(display).failed == 0
    rows = [["data set", "done"], ["x", "10"], ["longer name", "2"]]
    assert display.aligned(rows) == "data set     done\nx            10\nlonger name  2"
