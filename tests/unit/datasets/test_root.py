from pathlib import Path

import pytest

from mggcn.datasets import root
from mggcn.errors import InputError


def test_the_argument_comes_before_the_environment_before_the_cache(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
):
    assert root.data_root() == cache
    monkeypatch.setenv("MGGCN_DATA", str(tmp_path / "named"))
    assert root.data_root() == tmp_path / "named"
    assert root.data_root(tmp_path / "given") == tmp_path / "given"
    assert root.places(tmp_path / "given") == [tmp_path / "given", cache]


def test_without_a_cache_setting_the_home_folder_holds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert root.user_cache() == tmp_path / ".cache" / "mggcn"


def test_a_writable_root_is_made_and_used(tmp_path: Path):
    assert root.writable(tmp_path / "a" / "b") == tmp_path / "a" / "b"
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_a_read_only_root_gives_way_to_the_cache(tmp_path: Path, cache: Path):
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    assert root.writable(locked) == cache


def test_a_root_that_is_a_file_gives_way_to_the_cache(tmp_path: Path, cache: Path):
    (tmp_path / "file").touch()
    assert root.writable(tmp_path / "file") == cache


def test_nothing_writable_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"file: cannot be written, nor can .*MGGCN_DATA"):
        root.writable(tmp_path / "file")
