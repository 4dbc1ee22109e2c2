import json
from pathlib import Path

import numpy as np
import pytest

from mggcn._io import files
from mggcn.data import FolderWriter, load_folder, save, writing
from mggcn.data._dataset import Dataset
from mggcn.data._writer import ArrayWriter
from mggcn.errors import InputError


@pytest.mark.parametrize(
    "array",
    [
        np.arange(7, dtype=np.int64),
        np.arange(30, dtype=np.float32).reshape(10, 3),
        np.array(["a", "ñ", "abc"]),
        np.array([b"a", b"abc"]),
        np.empty((0, 4), np.float32),
        np.empty((5, 0), np.float32),
        np.arange(24, dtype=np.int32).reshape(4, 6)[:, ::2],
    ],
    ids=lambda array: f"{array.dtype}{list(array.shape)}",
)
def test_rows_appended_in_parts_give_the_file_that_numpy_writes(tmp_path: Path, array: np.ndarray) -> None:
    num_rows = array.shape[0]
    writer = ArrayWriter(tmp_path / "a.npy", array.dtype, array.shape[1:])
    for start in range(0, num_rows, 2):
        writer.append(array[start : start + 2])
    writer.close()
    np.save(tmp_path / "numpy.npy", np.ascontiguousarray(array))
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "numpy.npy").read_bytes()
    described = writer.describe()
    assert described.sha256 == files.sha256(tmp_path / "numpy.npy")
    assert (described.dtype, described.shape) == (array.dtype.str, list(array.shape))


def test_an_array_without_its_last_row_does_not_load(tmp_path: Path) -> None:
    writer = ArrayWriter(tmp_path / "a.npy", np.int64)
    writer.append(np.arange(3))
    writer.abandon()
    with pytest.raises(ValueError, match="pickle"):
        np.load(tmp_path / "a.npy")


def test_rows_of_another_type_or_shape_are_refused(tmp_path: Path) -> None:
    writer = ArrayWriter(tmp_path / "a.npy", np.float32, (2,))
    for rows in (np.zeros((1, 2)), np.zeros((1, 3), np.float32)):
        with pytest.raises(ValueError, match=r"a\.npy: rows of"):
            writer.append(rows)
    writer.abandon()


def write_small(folder: FolderWriter) -> None:
    x = folder.array("x", np.float32, (2,))
    for node in range(3):
        x.append(np.full((1, 2), node, np.float32))
    folder.write("y", np.full(3, -1))
    folder.write("indices", np.array([1], np.int32))
    folder.write("indptr", np.array([0, 1, 1, 1]))
    folder.finish("d", [], direction="in")


def test_a_streamed_folder_loads_like_any_other(tmp_path: Path) -> None:
    with writing(tmp_path / "d") as folder:
        write_small(folder)
    data = load_folder(tmp_path / "d")
    assert (data.num_nodes, data.graph.num_edges, data.num_features) == (3, 1, 2)
    assert data.x.tolist() == [[0, 0], [1, 1], [2, 2]]
    meta = json.loads((tmp_path / "d" / "meta.json").read_text())
    assert list(meta["files"]) == ["indptr.npy", "indices.npy", "y.npy", "x.npy"]
    assert (meta["num_nodes"], meta["num_edges"]) == (3, 1)
    assert save(data, tmp_path / "again").digest == data.digest
    assert (tmp_path / "again" / "meta.json").read_bytes() == (tmp_path / "d" / "meta.json").read_bytes()


def test_an_array_may_be_edited_before_the_end(tmp_path: Path) -> None:
    with writing(tmp_path / "d") as folder:
        x = folder.array("x", np.float32, (2,))
        x.append(np.zeros((3, 2), np.float32))
        x.close()
        np.load(x.path, mmap_mode="r+")[1] = 5
        folder.write("y", np.full(3, -1))
        folder.write("indices", np.empty(0, np.int32))
        folder.write("indptr", np.zeros(4, np.int64))
        folder.finish("d", [], direction="in")
    assert load_folder(tmp_path / "d").x.tolist() == [[0, 0], [5, 5], [0, 0]]


def test_an_error_between_arrays_leaves_nothing_and_keeps_what_was_there(small: Dataset, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="rows of float64"), writing(tmp_path / "new") as folder:
        folder.array("x", np.float32, (2,)).append(np.zeros((1, 2)))
    assert list(tmp_path.iterdir()) == []
    save(small, tmp_path / "d")
    with pytest.raises(InputError, match="already exists"), writing(tmp_path / "d"):
        pytest.fail("the block must not run")
    with pytest.raises(KeyError), writing(tmp_path / "d", overwrite=True):
        raise KeyError
    assert load_folder(tmp_path / "d").name == small.name
    with writing(tmp_path / "d", overwrite=True) as folder:
        write_small(folder)
    assert load_folder(tmp_path / "d").name == "d"
    assert [path.name for path in tmp_path.iterdir()] == ["d"]


def test_a_table_that_was_written_into_the_folder_is_kept(tmp_path: Path) -> None:
    with writing(tmp_path / "d") as folder:
        (folder.path / "rows.txt").write_text("rows")
        folder.add_table("rows.txt", folder.path / "rows.txt")
        write_small(folder)
    meta = json.loads((tmp_path / "d" / "meta.json").read_text())
    assert meta["tables"] == {"rows.txt": files.sha256(tmp_path / "d" / "rows.txt")}
