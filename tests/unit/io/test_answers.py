"""Fetching from servers that are hostile: it ends in one line, soon, with little memory."""

import re
import resource
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from mggcn._io import answers
from mggcn.cli import main
from mggcn.data import _planetoid as planetoid_files
from mggcn.errors import InputError
from mggcn.ethereum import _etherscan as etherscan
from tests.hostile import ANSWERS, answering

pytest.importorskip("httpx")
pytest.importorskip("stamina")
_MIB = 1 << 20


@pytest.fixture(autouse=True)
def _little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(answers, "MOST_BYTES", 16 * _MIB)
    monkeypatch.setattr(etherscan, "_SECONDS", 0.3)
    monkeypatch.setattr("tenacity.nap.time", SimpleNamespace(sleep=lambda _: None))


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.slow
@pytest.mark.parametrize("name", ANSWERS)
def test_a_crawl_of_a_hostile_server_ends_in_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ETHERSCAN_API_KEY", "key")
    (tmp_path / "labels.csv").write_text(f"address,label\n0x{1:040x},ICO\n")
    started = time.monotonic()
    with answering(name) as url:
        command = f"ethereum crawl --quiet --rate 1e6 --labels {tmp_path / 'labels.csv'} --out {tmp_path / 'out'}"
        assert main([*command.split(), "--base-url", url]) == 2
    shown = capsys.readouterr().err
    assert re.fullmatch(r"mggcn: error: http://127.0.0.1:\d+: 0x0+1: [^\n]{1,400}\n", shown)
    assert time.monotonic() - started < 20
    assert (tmp_path / "out" / "transactions.jsonl").read_bytes() == b""


def _downloaded(url: str) -> tuple[str, bytes]:
    """The problem of a download, and what it gave."""
    try:
        return "", planetoid_files.download(url, seconds=0.3)
    except InputError as error:
        return str(error), b""


@pytest.mark.slow
@pytest.mark.parametrize("name", ANSWERS)
def test_a_download_from_a_hostile_server_ends_in_one_line_or_has_what_was_sent(name: str) -> None:
    started, before = time.monotonic(), _peak()
    with answering(name) as url:
        problem, sent = _downloaded(f"{url}/x")
        assert len(sent) <= answers.MOST_BYTES
        assert bool(sent) or re.fullmatch(rf"{url}/x: [^\n]{{1,400}}", problem)
    assert time.monotonic() - started < 5
    assert _peak() - before < 100 * _MIB


def test_an_answer_of_the_largest_size_is_whole_and_one_byte_more_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST_BYTES", 1_000)
    assert answers.joined([b"x" * 600, b"y" * 400]) == b"x" * 600 + b"y" * 400
    with pytest.raises(InputError, match="the answer is larger than"):
        answers.joined([b"x" * 600, b"y" * 401])


def test_the_time_is_of_the_whole_answer() -> None:
    started = time.monotonic()
    with pytest.raises(TimeoutError, match=r"no whole answer within 0.2 s"):
        answers.within(0.2, lambda: time.sleep(30))
    assert time.monotonic() - started < 5
    assert answers.within(5, lambda: 7) == 7
    with pytest.raises(TimeoutError, match="its own"):
        answers.within(5, lambda: (_ for _ in ()).throw(TimeoutError("its own")))
