"""Arrays that preparing computes, kept on disk in folders named by a hash of all that they depend on.

A folder is written under a temporary name by the one process that has locked its name, and renamed; other processes
wait for it. It is mapped when it is read, with the sizes and types of its files verified. One that is damaged is
written again.
"""

import hashlib
import json
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import DTypeLike, NDArray

from mggcn._io.files import check_npy, read_json, replacing, sealed, write_durably
from mggcn._io.mapping import MappedFiles
from mggcn._io.memory import disk, size
from mggcn._io.temporary import locked_name
from mggcn.data._writer import META, ArrayFile, ArrayWriter
from mggcn.errors import ARRAY_ERRORS, InputError, InputWarning, first_line

FORMAT = "mggcn-prepared"
VERSION = 1


class _Meta(msgspec.Struct, frozen=True):
    """The content of ``meta.json`` of a folder: what the arrays depend on, and their types, shapes and checksums."""

    format: str
    what: dict[str, Any]
    files: dict[str, ArrayFile]


class Draft:
    """A folder while it is written.

    Attributes:
        path: for files of the work itself, too; they are removed.
        memory: the bytes that the work may take.
    """

    def __init__(self, path: Path, memory: int) -> None:
        self.path, self.memory = path, memory
        self._writers: dict[str, ArrayWriter] = {}

    def array(
        self, name: str, dtype: DTypeLike, row_shape: tuple[int, ...] = (), num_rows: int | None = None
    ) -> ArrayWriter:
        """Return the writer of a new array; with its number of rows it is hashed while it is written."""
        self._writers[name] = ArrayWriter(self.path / f"{name}.npy", dtype, row_shape, num_rows)
        return self._writers[name]

    def write(self, name: str, array: NDArray[Any]) -> None:
        """Write a whole array."""
        self.array(name, array.dtype, array.shape[1:], array.shape[0]).append(array)

    def finish(self, what: Mapping[str, Any]) -> None:
        """Write ``meta.json``, and remove all other files."""
        for writer in self._writers.values():
            writer.close()
        files = {name: writer.describe() for name, writer in self._writers.items()}
        for path in self.path.iterdir():
            if path.stem not in files:
                path.unlink()
        meta = _Meta(FORMAT, dict(what), files)
        write_durably(self.path / META, sealed(json.dumps(msgspec.to_builtins(meta), indent=2) + "\n"))

    def abandon(self) -> None:
        """Close all files as they are."""
        for writer in self._writers.values():
            writer.abandon()


@dataclass(frozen=True)
class Entry:
    """A folder of the cache: what its arrays depend on, and its size."""

    path: Path
    what: Mapping[str, Any]
    num_bytes: int


@dataclass(frozen=True)
class Cache:
    """A folder of prepared arrays.

    Attributes:
        folder: created when the first array is kept.
        memory: the bytes that computing arrays may take.
    """

    folder: Path
    memory: int = 2 << 30

    def arrays(
        self, what: Mapping[str, Any], build: Callable[[Draft], None], num_bytes: int = 0
    ) -> dict[str, NDArray[Any]]:
        """Return the mapped arrays of this description; ``build`` writes them if they are not there.

        Changes of the mapped arrays are private to the process and never reach the disk.

        Args:
            what: all that the arrays depend on.
            build: writes them.
            num_bytes: that the disk must have free before they are written.
        """
        text = json.dumps({"version": VERSION, **what}, sort_keys=True)
        entry = self.folder / hashlib.sha256(text.encode()).hexdigest()[:24]
        try:
            with locked_name(entry, wait=True):
                return _read(entry) or self._built(entry, what, build, num_bytes)
        except OSError as error:
            raise InputError(f"{self.folder}: cannot be written ({first_line(error)})") from None

    def require_disk(self, num_bytes: int) -> None:
        """Raise InputError if the disk has fewer free bytes."""
        if num_bytes > (free := self.free()):
            raise InputError(f"{self.folder}: preparing needs {size(num_bytes)} of disk, and {size(free)} are free")

    def free(self) -> int:
        """The free bytes of the disk."""
        return disk(self.folder)[1]

    def _built(
        self, entry: Path, what: Mapping[str, Any], build: Callable[[Draft], None], num_bytes: int
    ) -> dict[str, NDArray[Any]]:
        self.require_disk(num_bytes)
        with replacing(entry, lambda _: None) as path:  # a damaged one is replaced
            draft = Draft(path, self.memory)
            try:
                build(draft)
                draft.finish(what)
            finally:
                draft.abandon()
        return _read(entry) or {}

    def entries(self) -> Iterator[Entry]:
        """The folders of the cache."""
        for path in sorted(self.folder.glob("*/")):
            try:
                meta = read_json(path / META, _Meta)
            except InputError:
                continue
            yield Entry(path, meta.what, sum(file.stat().st_size for file in path.iterdir()))

    def clear(self) -> int:
        """Remove all folders that no process is writing; return their size in bytes."""
        freed = 0
        for entry in list(self.entries()):
            with locked_name(entry.path, wait=True):
                shutil.rmtree(entry.path)
            freed += entry.num_bytes
        return freed


def _read(entry: Path) -> dict[str, NDArray[Any]] | None:
    """Map the arrays of a folder; None if it is not there or damaged."""
    if not entry.exists():
        return None
    try:
        files = read_json(entry / META, _Meta).files
        for name in files:
            check_npy(entry / f"{name}.npy")
        modes: dict[str, Literal["c"] | None] = {name: None if 0 in file.shape else "c" for name, file in files.items()}
        arrays = {name: np.load(entry / f"{name}.npy", mmap_mode=mode) for name, mode in modes.items()}
        for name, file in files.items():
            if (arrays[name].dtype.str, list(arrays[name].shape)) != (file.dtype, file.shape):
                raise InputError(f"{name}.npy is of another type or shape")
    except ARRAY_ERRORS as error:
        warnings.warn(f"{entry}: damaged ({first_line(error)}), prepared again", InputWarning, stacklevel=4)
        return None
    MappedFiles.of(arrays.values())
    return arrays
