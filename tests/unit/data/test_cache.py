"""Arrays on disk that are computed once: found again, rebuilt when damaged, shared by processes."""

import multiprocessing
from pathlib import Path

import numpy as np
import pytest

from mggcn.data._cache import Cache
from mggcn.data._writer import META, FolderWriter
from mggcn.errors import InputError, InputWarning

WHAT = {"data": "abc", "rows": "fine"}


def build(folder: FolderWriter) -> None:
    (folder.path / "scratch.npy").write_bytes(b"of the work itself")
    folder.write("rows", np.arange(6, dtype=np.float32).reshape(3, 2))


def fail(folder: FolderWriter) -> None:
    build(folder)
    raise InputError("out of luck")


def entry_of(cache: Cache) -> Path:
    (entry,) = cache.entries()
    return entry.path


def test_arrays_are_built_once_and_found_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "prepared")
    first = cache.arrays(WHAT, build)
    second = cache.arrays(WHAT, fail)
    assert np.array_equal(first["rows"], second["rows"])
    assert {path.name for path in entry_of(cache).iterdir()} == {"rows.npy", META}
    with pytest.raises(InputError, match="out of luck"):
        cache.arrays({**WHAT, "data": "other"}, fail)
    assert len(list(cache.entries())) == 1
    assert not list(cache.folder.glob(".*.tmp")), "nothing of a failed build is left"


def test_changes_of_mapped_arrays_stay_in_the_process(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.arrays(WHAT, build)["rows"][0, 0] = 99
    assert cache.arrays(WHAT, fail)["rows"][0, 0] == 0


@pytest.mark.parametrize("damage", ["cut", "no meta", "other meta", "other array", "an archive", "half an archive"])
def test_a_damaged_folder_is_built_again(tmp_path: Path, damage: str) -> None:
    cache = Cache(tmp_path)
    cache.arrays(WHAT, build)
    entry = entry_of(cache)
    rows = entry / "rows.npy"
    if damage == "cut":
        rows.write_bytes(rows.read_bytes()[:-4])
    elif damage == "no meta":
        (entry / META).unlink()
    elif damage == "other meta":
        (entry / META).write_text('{"format": 1}')
    elif damage == "other array":
        np.save(rows, np.zeros(3))
    else:
        np.savez(tmp_path / "other.npz", np.zeros(3))
        rows.write_bytes((tmp_path / "other.npz").read_bytes()[: None if damage == "an archive" else 40])
    with pytest.warns(InputWarning, match=r"damaged .*, prepared again"):
        arrays = cache.arrays(WHAT, build)
    assert arrays["rows"][2, 1] == 5


def test_clearing_removes_everything(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.arrays(WHAT, build)
    cache.arrays({**WHAT, "data": "other"}, build)
    sizes = [entry.num_bytes for entry in cache.entries()]
    assert cache.clear() == sum(sizes) > 0
    assert not list(tmp_path.iterdir())
    assert cache.arrays(WHAT, build)["rows"].shape == (3, 2)


def count_builds(folder: Path, built: Path) -> None:
    def counted(folder: FolderWriter) -> None:
        with built.open("a") as file:
            file.write("built\n")
        build(folder)

    Cache(folder).arrays(WHAT, counted)


@pytest.mark.slow
def test_processes_that_start_at_once_build_once(tmp_path: Path) -> None:
    built = tmp_path / "built"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=count_builds, args=(tmp_path / "prepared", built)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
        assert worker.exitcode == 0
    assert built.read_text() == "built\n"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocker = tmp_path / "prepared"
    blocker.write_text("a file")
    with pytest.raises(InputError, match=r"prepared: cannot be written"):
        Cache(blocker).arrays(WHAT, build)


def test_an_array_without_rows_is_kept(tmp_path: Path) -> None:
    for builder in (lambda folder: folder.write("sums", np.empty(0, np.int32)), fail):
        assert Cache(tmp_path).arrays(WHAT, builder)["sums"].shape == (0,)
