"""Memory-mapped files: whether to map, rows that are read in any order, and files that must not change meanwhile."""

import mmap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn._io import memory as free_memory
from mggcn._io.files import check_writable
from mggcn._io.memory import amount
from mggcn.errors import InputError

_SHARE = 0.5  # of the free memory; folders above it are mapped
_MEMORY = 2 << 30  # bytes


@dataclass(frozen=True)
class Access:
    """How a dataset folder is read, and where and with how much memory what a run needs of it is computed.

    Attributes:
        mmap: map the arrays instead of reading them; None does so if they are larger than half of the free memory.
        cache: the folder for what is computed from a mapped data set before training; None is beside the data, or in
            the data root if that cannot be written.
        memory: the bytes that computing it may take.
    """

    mmap: bool | None = None
    cache: Path | None = None
    memory: int = _MEMORY

    @classmethod
    def of(cls, mmap: bool | None = None, cache: str | Path | None = None, memory: str | None = None) -> "Access":
        """What a user asks for; ``memory`` is text such as ``2GB``."""
        if cache is not None:
            check_writable(Path(cache), "cache")
        return cls(mmap, None if cache is None else Path(cache), _MEMORY if memory is None else amount(memory))


AUTOMATIC = Access()


def is_too_large(num_bytes: int) -> bool:
    """Whether arrays of this size should be mapped: they are larger than half of the free memory."""
    free = free_memory.available()
    return free is not None and num_bytes > _SHARE * free


@dataclass(frozen=True)
class MappedFiles:
    """Files as they were when they were mapped: inode, size and time of the last change of each."""

    stamps: dict[Path, tuple[int, int, int]]

    @classmethod
    def of(cls, arrays: Iterable[NDArray[Any]]) -> "MappedFiles":
        """The files of the arrays that are mapped."""
        paths = (Path(str(array.filename)) for array in arrays if isinstance(array, np.memmap))
        return cls({path: _stamp(path) for path in paths})

    def check(self) -> None:
        """Raise InputError if a file has changed."""
        for path, stamp in self.stamps.items():
            try:
                is_same = _stamp(path) == stamp
            except OSError:
                is_same = False
            if not is_same:
                raise InputError(f"{path}: changed while it was mapped; the results would mix two versions")


def _stamp(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


class MappedRows:
    """The rows of a mapped matrix, which are read in any order: the system reads no pages around them.

    Args:
        matrix: [num_rows, width], whose rows are one after the other in the file.
        file: that ``matrix`` is a part of.
    """

    def __init__(self, matrix: NDArray[Any], file: mmap.mmap) -> None:
        self._map, self._row_bytes = file, matrix.strides[0]
        self._start = matrix.ctypes.data - np.frombuffer(self._map, np.uint8).ctypes.data
        if hasattr(mmap, "MADV_RANDOM"):
            self._map.madvise(mmap.MADV_RANDOM)

    @classmethod
    def of(cls, matrix: NDArray[Any]) -> "MappedRows | None":
        """The rows of a matrix; None if it is in memory, as the result of every operation on a mapped matrix is."""
        base: Any = matrix
        while isinstance(base, np.ndarray):
            base = base.base
        return cls(matrix, base) if isinstance(base, mmap.mmap) else None

    def prefetch(self, rows: NDArray[np.integer[Any]]) -> None:
        """Ask the system to read these rows in the background."""
        if rows.size == 0 or not hasattr(mmap, "MADV_WILLNEED"):
            return
        for first, stop in self.page_runs(rows):
            self._map.madvise(mmap.MADV_WILLNEED, first * mmap.PAGESIZE, (stop - first) * mmap.PAGESIZE)

    def release(self) -> None:
        """Unmap the pages that were read; the system keeps them while it has room."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)

    def page_runs(self, rows: NDArray[np.integer[Any]]) -> list[tuple[int, int]]:
        """The runs of pages of the file's map that hold some rows, as pairs (first page, page after the last)."""
        starts = self._start + np.unique(rows).astype(np.int64) * self._row_bytes
        first, stop = starts // mmap.PAGESIZE, (starts + self._row_bytes - 1) // mmap.PAGESIZE + 1
        is_new = np.concatenate([[True], first[1:] > stop[:-1]])
        return list(zip(first[is_new].tolist(), stop[np.concatenate([is_new[1:], [True]])].tolist(), strict=True))
