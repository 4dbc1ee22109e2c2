from pathlib import Path

import numpy as np
import pytest

from mggcn import storage
from mggcn.dataset import Dataset, Split
from mggcn.datasets.converted import kept
from mggcn.errors import InputError
from mggcn.graph import Graph

FOLDER = Path("converted") / "tiny"


def _tiny() -> Dataset:
    return Dataset(
        name="tiny",
        graph=Graph.from_edges([0, 1], [1, 2], 3),
        x=np.eye(3, dtype=np.float32),
        y=np.array([0, 1, 0]),
        classes=("a", "b"),
        split=Split.of([0], [1], [2]),
    )


def test_it_is_built_once(tmp_path: Path):
    built = []

    def build() -> Dataset:
        built.append(1)
        return _tiny()

    first, second = (kept(FOLDER, build, root=tmp_path, mmap=False) for _ in range(2))
    assert first.digest == second.digest != ""
    assert first.path == second.path == tmp_path / FOLDER
    assert built == [1]


def test_mapping_holds_from_the_first_time(tmp_path: Path):
    assert isinstance(kept(FOLDER, _tiny, root=tmp_path, mmap=True).x, np.memmap)


def test_a_second_process_that_was_faster_is_no_error(tmp_path: Path):
    def build() -> Dataset:
        storage.save(_tiny(), tmp_path / FOLDER)
        return _tiny()

    assert kept(FOLDER, build, root=tmp_path, mmap=False).path == tmp_path / FOLDER


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage, "_write_array", full)
    with pytest.raises(InputError, match=r"converted/tiny: cannot be written \(\[Errno 28\] No space left on device\)"):
        kept(FOLDER, _tiny, root=tmp_path, mmap=False)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_damaged_folder_is_told(tmp_path: Path):
    kept(FOLDER, _tiny, root=tmp_path, mmap=False)
    with (tmp_path / FOLDER / "y.npy").open("ab") as file:
        file.write(b"x")
    with pytest.raises(InputError, match=r"y.npy: sha256 differs"):
        kept(FOLDER, _tiny, root=tmp_path, mmap=False)
