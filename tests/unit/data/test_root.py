from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from mggcn._io.temporary import locked_name
from mggcn.data import FolderWriter, save
from mggcn.data import _root as root
from mggcn.data._dataset import Dataset
from mggcn.data._root import load_or_build
from mggcn.data._split import Split
from mggcn.errors import InputError
from mggcn.graph import Graph

FOLDER = Path("converted") / "tiny"


def test_the_argument_comes_before_the_environment_before_the_cache(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
):
    assert root.data_roots()[0] == cache
    monkeypatch.setenv("MGGCN_DATA", str(tmp_path / "named"))
    assert root.data_roots()[0] == tmp_path / "named"
    assert root.data_roots(tmp_path / "given")[0] == tmp_path / "given"
    assert root.data_roots(tmp_path / "given") == [tmp_path / "given", cache]


def test_without_a_cache_setting_the_home_folder_holds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert root.user_cache() == tmp_path / ".cache" / "mggcn"


def test_a_writable_root_is_made_and_used(tmp_path: Path):
    assert root.writable_root(tmp_path / "a" / "b") == tmp_path / "a" / "b"
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_a_read_only_root_gives_way_to_the_cache(tmp_path: Path, cache: Path):
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    assert root.writable_root(locked) == cache


def test_a_root_that_is_a_file_gives_way_to_the_cache(tmp_path: Path, cache: Path):
    (tmp_path / "file").touch()
    assert root.writable_root(tmp_path / "file") == cache


def test_nothing_writable_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"file: cannot be written, nor can .*MGGCN_DATA"):
        root.writable_root(tmp_path / "file")


def test_a_folder_is_found_only_with_all_its_files(tmp_path: Path, cache: Path):
    for folder, files in ((tmp_path / "set", ["a"]), (cache / "set", ["a", "b"])):
        folder.mkdir(parents=True)
        for file in files:
            (folder / file).touch()
    assert root.find_folder("set", ["a"], tmp_path) == tmp_path / "set"
    assert root.find_folder("set", ["a", "b"], tmp_path) == cache / "set"
    assert root.find_folder("set", ["c"], tmp_path) is None


def _tiny(target: Path) -> Dataset:
    tiny = Dataset(
        name="tiny",
        graph=Graph.from_edges([0, 1], [1, 2], 3),
        x=np.eye(3, dtype=np.float32),
        y=np.array([0, 1, 0]),
        classes=("a", "b"),
        split=Split.of([0], [1], [2]),
    )
    return save(tiny, target)


def test_it_is_built_once(tmp_path: Path):
    built = []

    def build(target: Path) -> Dataset:
        built.append(1)
        return _tiny(target)

    first, second = (load_or_build(FOLDER, build, root=tmp_path, mmap=False) for _ in range(2))
    assert first.digest == second.digest != ""
    assert first.path == second.path == tmp_path / FOLDER
    assert built == [1]


def test_mapping_holds_from_the_first_time(tmp_path: Path):
    assert isinstance(load_or_build(FOLDER, _tiny, root=tmp_path, mmap=True).x, np.memmap)


def test_what_another_writer_is_building_is_waited_for_and_not_built_again(tmp_path: Path):
    def never(_: Path) -> Dataset:
        raise AssertionError("built twice")

    with ThreadPoolExecutor(1) as pool:
        with locked_name(tmp_path / FOLDER):
            waiting = pool.submit(load_or_build, FOLDER, never, root=tmp_path, mmap=False)
            _tiny(tmp_path / FOLDER)
        assert waiting.result(timeout=60).path == tmp_path / FOLDER


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FolderWriter, "write", full)
    with pytest.raises(
        InputError,
        match=r"converted/tiny: cannot be written \(\[Errno 28\] No space left on device: .*converted/tiny'\)",
    ):
        load_or_build(FOLDER, _tiny, root=tmp_path, mmap=False)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_damaged_folder_is_an_error(tmp_path: Path):
    load_or_build(FOLDER, _tiny, root=tmp_path, mmap=False)
    with (tmp_path / FOLDER / "y.npy").open("ab") as file:
        file.write(b"x")
    with pytest.raises(InputError, match=r"y.npy: sha256 differs"):
        load_or_build(FOLDER, _tiny, root=tmp_path, mmap=False)
