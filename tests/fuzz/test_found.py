"""What fuzzing has found: each was a traceback and is now one line."""

import io
import zipfile

import numpy as np
import pytest

from mggcn.errors import InputError
from tests.fuzz.readers import Reader, readers

NO_CHARACTER = np.array([0x110000, 0xD800, 65], "<u4")[:2].view("<U1")


@pytest.fixture(scope="module")
def all_readers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reader]:
    return readers(tmp_path_factory.mktemp("files"))


def with_members(content: bytes, **changed: bytes) -> bytes:
    """An ``.npz`` file with other content for some of its arrays."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(name, changed.get(name.removesuffix(".npy"), old.read(name)))
    return file.getvalue()


def member(content: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.read(f"{name}.npy")


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize(("name", "array"), [("npz", "edge_index"), ("split.npz", "train"), ("y.npy", "")])
def test_a_header_whose_bracket_is_not_closed(all_readers: dict[str, Reader], name: str, array: str) -> None:
    reader = all_readers[name]
    content = reader.content
    if array:
        content = with_members(content, **{array: member(content, array).replace(b"}", b" ", 1)})
    else:
        content = content.replace(b"}", b" ", 1)
    with pytest.raises(InputError, match=r"EOF in multi-line|cannot be read"):
        reader.read(content)


@pytest.mark.parametrize("names", [NO_CHARACTER, np.array([0xD800, 65], "<u4").view("<U1")])
def test_text_with_a_number_that_is_no_character(all_readers: dict[str, Reader], names: np.ndarray) -> None:
    for reader, array in (("npz", "class_names"), ("split.npz", "train")):
        content = with_members(all_readers[reader].content, **{array: npy(names)})
        with pytest.raises(InputError, match="no character"):
            all_readers[reader].read(content)
    with pytest.raises(InputError, match=r"ids\.npy: holds text with a number that is no character"):
        all_readers["ids.npy"].read(npy(np.resize(names, 60)))


@pytest.mark.parametrize("content", [b"", b"no array", npy(np.float32([0.5])), npy(np.eye(2, dtype=np.int64))])
def test_a_split_whose_parts_are_no_ids(all_readers: dict[str, Reader], content: bytes) -> None:
    with pytest.raises(InputError, match=r"split\.npz: val: "):
        all_readers["split.npz"].read(with_members(all_readers["split.npz"].content, val=content))


def test_names_in_bytes_that_are_not_ascii(all_readers: dict[str, Reader]) -> None:
    content = with_members(all_readers["npz"].content, class_names=npy(np.array([b"a", b"\xff"])))
    with pytest.raises(InputError, match=r"class_names: holds bytes that are not ASCII"):
        all_readers["npz"].read(content)
