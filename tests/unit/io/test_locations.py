from pathlib import Path

import pytest
from pyarrow import fs

from mggcn._io import locations
from mggcn._io.locations import Location, is_address
from mggcn.errors import InputError


def test_names_with_a_scheme_are_addresses() -> None:
    assert [is_address(name) for name in ("s3://b/f", "file:///f", "/f", "f", "c:/f", "a//b")] == [True] * 2 + [
        False
    ] * 4


@pytest.mark.parametrize("is_local", [True, False])
def test_a_folder_here_and_at_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_local: bool) -> None:
    def open_folder(address: str) -> tuple[fs.FileSystem, str]:
        assert address.startswith("s3://bucket/top")
        return fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), address.removeprefix("s3://bucket/")

    monkeypatch.setattr(locations, "open_address", open_folder)
    root = tmp_path if is_local else tmp_path / "top"
    folder = Location.of(tmp_path if is_local else "s3a://bucket/top/") / "a"
    assert folder.address == (f"file://{tmp_path}/a" if is_local else "s3a://bucket/top/a")
    assert folder.local == (tmp_path / "a" if is_local else None)
    assert not folder.is_dir()
    folder.remove()
    (folder / "b").create()
    (folder / "b" / "z.csv.gz").write(b"one")
    (folder / "y.json").write(b"other")
    assert (root / "a" / "b" / "z.csv.gz").read_bytes() == b"one"
    first, second = folder.files()
    assert [str(first), str(second)] == [f"{folder}/b/z.csv.gz", f"{folder}/y.json"]
    assert (first.name, first.suffix, first.suffixes, first.parent.name) == ("z.csv.gz", ".gz", [".csv", ".gz"], "b")
    assert (first.num_bytes(), first.is_file(), folder.is_file(), folder.is_dir()) == (3, True, False, True)
    with first.open() as file:
        assert file.read() == b"one"
    folder.remove()
    assert not (root / "a").exists()


def test_errors_name_the_address(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^nowhere://b/f: cannot be read \("):
        Location.of("nowhere://b/f")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"/file/inside: cannot be written \("):
        (Location.of(tmp_path / "file") / "inside").create()
