import mmap
import os
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from mggcn._io import memory
from mggcn._io.mapping import MappedFiles, MappedRows
from mggcn.data import load_folder, save
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError


@pytest.fixture
def matrix(tmp_path: Path) -> np.memmap:
    np.save(tmp_path / "x.npy", np.arange(5000 * 24, dtype=np.float32).reshape(5000, 24))
    return np.load(tmp_path / "x.npy", mmap_mode="c")


def flags(path: Path) -> list[str]:
    """What the kernel knows about the map of a file."""
    content = Path("/proc/self/smaps").read_text()
    entries = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", content, flags=re.MULTILINE)
    mine = [entry for entry in entries if str(path) in entry]
    return [
        flag for entry in mine for line in entry.splitlines() if line.startswith("VmFlags") for flag in line.split()
    ]


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs /proc")
def test_rows_are_read_without_the_pages_around_them(matrix: np.memmap) -> None:
    assert "rr" not in flags(matrix.filename)
    MappedRows.of(matrix)
    assert "rr" in flags(matrix.filename)


@pytest.mark.parametrize("rows", [[0], [4999], [3, 1, 2, 3], [0, 42, 43, 1000, 4999], range(5000)])
def test_the_pages_of_rows(matrix: np.memmap, rows: list[int]) -> None:
    start, width = matrix.offset, matrix.strides[0]
    expected = {
        page
        for row in rows
        for page in range((start + row * width) // mmap.PAGESIZE, (start + (row + 1) * width - 1) // mmap.PAGESIZE + 1)
    }
    runs = MappedRows.of(matrix).page_runs(np.array(rows))
    assert {page for first, stop in runs for page in range(first, stop)} == expected
    assert all(stop < first for (_, stop), (first, _) in pairwise(runs)), "runs do not touch"


def test_prefetching_rows_changes_nothing(matrix: np.memmap) -> None:
    before = np.array(matrix)
    rows = MappedRows.of(matrix)
    for selected in (np.arange(5000), np.array([7, 7, 4999]), np.array([], np.int64)):
        rows.prefetch(selected)
    assert np.array_equal(matrix, before)


def test_parts_of_a_map_are_mapped_and_results_are_not(matrix: np.memmap) -> None:
    assert MappedRows.of(matrix[10:20]).page_runs(np.array([0])) == MappedRows.of(matrix).page_runs(np.array([10]))
    for result in (matrix * 2, matrix[[1, 2]], np.array(matrix), matrix.astype(np.float64)):
        assert MappedRows.of(result) is None


def touch(path: Path) -> None:
    os.utime(path, ns=(0, 0))


def replace_file(path: Path) -> None:
    path.with_suffix(".new").write_bytes(path.read_bytes())
    path.with_suffix(".new").rename(path)


@pytest.mark.parametrize("change", [touch, replace_file, Path.unlink])
def test_a_changed_file_is_noticed(matrix: np.memmap, change: Callable[[Path], None]) -> None:
    files = MappedFiles.of([matrix, np.zeros(3)])
    files.check()
    change(Path(matrix.filename))
    with pytest.raises(InputError, match=r"x\.npy: changed while it was mapped"):
        files.check()


def test_folders_larger_than_half_of_the_free_memory_are_mapped(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(small, tmp_path / "d")
    size = sum(path.stat().st_size for path in (tmp_path / "d").glob("*.npy"))
    for free, is_mapped in ((2 * size - 2, True), (2 * size, False), (None, False)):
        monkeypatch.setattr(memory, "available", lambda free=free: free)
        data = load_folder(tmp_path / "d")
        assert [isinstance(array, np.memmap) for array in (data.x, data.y, data.graph.indices)] == [is_mapped] * 3
        assert (data.mapped is not None) == is_mapped
    assert load_folder(tmp_path / "d", mmap=True).mapped is not None


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="the system does not say which pages are mapped")
def test_pages_that_were_read_can_be_released(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(1 << 18))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    rows = MappedRows.of(mapped)
    assert rows is not None
    for _ in range(2):
        assert int(mapped.sum()) == sum(range(1 << 18))
        assert resident(tmp_path / "a.npy") > 0
        rows.release()
        assert resident(tmp_path / "a.npy") == 0


def resident(file: Path) -> int:
    """The KiB of a mapped file that are in the memory of this process."""
    mapping = Path("/proc/self/smaps").read_text().partition(str(file))[2]
    return int(mapping.partition("Rss:")[2].split()[0])
