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
from typing import Any

import msgspec
from numpy.typing import NDArray

from mggcn._io.files import read_json
from mggcn._io.mapping import MappedFiles
from mggcn._io.memory import disk, size
from mggcn._io.temporary import locked_name
from mggcn.data._folder import read_array
from mggcn.data._writer import META, ArrayFile, FolderWriter, replacing_arrays, write_meta
from mggcn.errors import InputError, InputWarning, first_line

FORMAT = "mggcn-prepared"
VERSION = 1


class _Meta(msgspec.Struct, frozen=True):
    """The content of ``meta.json`` of a folder: what the arrays depend on, and their types, shapes and checksums."""

    format: str
    what: dict[str, Any]
    files: dict[str, ArrayFile]


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
        self, what: Mapping[str, Any], build: Callable[[FolderWriter], None], num_bytes: int = 0
    ) -> dict[str, NDArray[Any]]:
        """Return the mapped arrays of this description; ``build`` writes them if they are not there.

        Changes of the mapped arrays are private to the process and never reach the disk.

        Args:
            what: all that the arrays depend on.
            build: writes them; other files in the folder are removed.
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
        self, entry: Path, what: Mapping[str, Any], build: Callable[[FolderWriter], None], num_bytes: int
    ) -> dict[str, NDArray[Any]]:
        self.require_disk(num_bytes)
        with replacing_arrays(entry, lambda _: None) as folder:  # a damaged one is replaced
            build(folder)
            files = folder.close()
            for path in folder.path.iterdir():
                if path.stem not in files:
                    path.unlink()
            write_meta(folder.path, _Meta(FORMAT, dict(what), files))
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
        arrays = {name: read_array(entry / f"{name}.npy", file, "c") for name, file in files.items()}
    except InputError as error:
        warnings.warn(f"{entry}: damaged ({error}), prepared again", InputWarning, stacklevel=4)
        return None
    MappedFiles.of(arrays.values())
    return arrays
