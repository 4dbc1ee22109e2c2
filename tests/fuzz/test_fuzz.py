"""The fuzzer accepts what readers accept, and finds a reader that raises anything but an InputError of one line."""

from pathlib import Path

import pytest

from mggcn.errors import InputError
from tests.fuzz.__main__ import DefectError, fuzz
from tests.fuzz.damage import changed_bytes
from tests.fuzz.readers import Reader, readers


@pytest.mark.filterwarnings("ignore::mggcn.errors.InputWarning")
def test_every_reader_accepts_the_file_that_is_damaged(tmp_path: Path) -> None:
    for name, reader in readers(tmp_path).items():
        assert reader.read(reader.content) is not None, name


def test_a_defect_is_found_and_has_its_file() -> None:
    def read(content: bytes) -> None:
        if b"7" not in content:
            raise KeyError("7")

    with pytest.raises(DefectError, match="KeyError") as found:
        fuzz(Reader(b"1,7,3", changed_bytes(b"1,7,3"), read), 0)
    assert b"7" not in found.value.content


def test_a_message_of_two_lines_is_a_defect() -> None:
    def read(content: bytes) -> None:
        raise InputError("a\nb")

    with pytest.raises(DefectError, match="not one line"):
        fuzz(Reader(b"1", changed_bytes(b"1"), read), 0)
