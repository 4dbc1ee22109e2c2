"""The append-only log; that torn and damaged lines are found is tested with the ledger."""

from pathlib import Path

import pytest

from mggcn._io.files import checksummed
from mggcn._io.log import Log
from mggcn.errors import InputError, InputWarning


def log(path: Path) -> Log[int]:
    return Log(path, "a number", lambda values: int(values["n"]))


def test_entries_come_back_in_order(tmp_path: Path) -> None:
    assert log(tmp_path / "deep" / "a.jsonl").read() == []
    for number in (3, 1, 2):
        log(tmp_path / "deep" / "a.jsonl").append({"n": number})
    assert log(tmp_path / "deep" / "a.jsonl").read() == [3, 1, 2]


def test_a_held_log_is_written_by_its_holder_alone(tmp_path: Path) -> None:
    held, other = log(tmp_path / "a.jsonl"), log(tmp_path / "a.jsonl")
    other.append({"n": 1})
    with held.held() as entries:
        assert entries == [1]
        held.append({"n": 2})
        with pytest.raises(InputError, match=r"a\.jsonl: another process is writing to it"), other.held():
            pass
    other.append({"n": 3})
    with other.held() as entries:
        assert entries == [1, 2, 3]


def test_a_torn_line_is_removed_by_the_next_holder(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    log(path).append({"n": 1})
    with path.open("ab") as file:
        file.write(checksummed('{"n": 2}', " ")[:-4])
    with pytest.warns(InputWarning, match="the last line is not whole"):
        assert log(path).read() == [1]
    with log(path).held() as entries:
        assert entries == [1]
    assert path.read_bytes().count(b"\n") == 1
    assert path.read_bytes().endswith(b"\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"n": 1}\n', "its checksum is missing"),
        (checksummed('{"n": 1}', " ").replace(b"1}", b"2}") + b"\n", "wrong checksum"),
        (checksummed('{"n": "x"}', " ") + b"\n", "invalid literal"),
        (b"[]\n", "its checksum is missing"),
        (b"\n", "its checksum is missing"),
    ],
)
def test_a_line_of_something_else_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=rf"a\.jsonl: line 1: not a number \({message}"):
        log(tmp_path / "a.jsonl").read()


def test_a_link_in_place_of_a_log_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises((InputError, OSError), match=r"a\.jsonl"):
        log(tmp_path / "a.jsonl").append({"n": 1})
    assert not (tmp_path / "elsewhere").exists()
