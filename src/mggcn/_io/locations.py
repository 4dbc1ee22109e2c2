"""Files and folders on this machine, or at addresses such as ``s3://bucket/folder`` that pyarrow and Spark can read.

Credentials come from where pyarrow's file systems, and Spark, search them.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow
from pyarrow import fs

from mggcn.errors import InputError, first_line

_ADDRESS = re.compile("[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_SAME_AS_S3 = re.compile("^s3[an]://")


def is_address(name: str) -> bool:
    """Whether a name is an address and not a path."""
    return _ADDRESS.match(name) is not None


def open_address(address: str) -> tuple[Any, str]:
    """Return pyarrow's file system of an address, and the path in it."""
    system, path = fs.FileSystem.from_uri(address)
    return system, path


@dataclass(frozen=True)
class Location:
    """A file or folder.

    Attributes:
        address: by which Spark finds it.
        path: in the file system.
        system: pyarrow's file system.
        shown: in messages: the name that was given.
    """

    address: str
    path: str
    system: Any = field(repr=False, compare=False)
    shown: str = field(compare=False)

    @classmethod
    def of(cls, name: str | Path) -> "Location":
        """A path of this machine, or an address; InputError if no file system has such addresses."""
        if isinstance(name, Path) or not is_address(name):
            path = str(Path(name).absolute())
            return cls(f"file://{path}", path, fs.LocalFileSystem(), str(Path(name)))
        with name_errors(name):
            system, path_there = open_address(_SAME_AS_S3.sub("s3://", name))
        return cls(name.rstrip("/"), path_there.rstrip("/"), system, name.rstrip("/"))

    def __str__(self) -> str:
        return self.shown

    def __truediv__(self, name: str) -> "Location":
        return Location(f"{self.address}/{name}", f"{self.path}/{name}", self.system, f"{self.shown}/{name}")

    @property
    def name(self) -> str:
        """The last part of the path."""
        return PurePosixPath(self.path).name

    @property
    def suffix(self) -> str:
        """The end of the name from its last point."""
        return PurePosixPath(self.path).suffix

    @property
    def suffixes(self) -> list[str]:
        """All suffixes of the name."""
        return PurePosixPath(self.path).suffixes

    @property
    def parent(self) -> PurePosixPath:
        """The path of the folder."""
        return PurePosixPath(self.path).parent

    @property
    def local(self) -> Path | None:
        """The path, if it is on this machine."""
        return Path(self.path) if isinstance(self.system, fs.LocalFileSystem) else None

    def is_dir(self) -> bool:
        """Whether it is a folder."""
        return bool(self._info().type == fs.FileType.Directory)

    def is_file(self) -> bool:
        """Whether it is a file."""
        return bool(self._info().type == fs.FileType.File)

    def num_bytes(self) -> int:
        """The size of a file."""
        return int(self._info().size or 0)

    def files(self) -> list["Location"]:
        """All files in a folder and in the folders inside it, by name."""
        with name_errors(self.shown):
            inside = self.system.get_file_info(fs.FileSelector(self.path, recursive=True))
        names = [info.path.removeprefix(self.path).lstrip("/") for info in inside if info.is_file]
        return [self / name for name in sorted(names)]

    def open(self) -> Any:
        """Open a file for reading, at any position."""
        with name_errors(self.shown):
            return self.system.open_input_file(self.path)

    def write(self, content: bytes) -> None:
        """Write a file."""
        with (
            name_errors(self.shown, "written"),
            self.system.open_output_stream(self.path, compression=None) as file,
        ):
            file.write(content)

    def create(self) -> None:
        """Create a folder."""
        with name_errors(self.shown, "written"):
            self.system.create_dir(self.path, recursive=True)

    def remove(self) -> None:
        """Remove a folder, if it is there, with all that is in it."""
        with name_errors(self.shown, "removed"):
            if self.is_dir():
                self.system.delete_dir(self.path)

    def _info(self) -> Any:
        with name_errors(self.shown):
            return self.system.get_file_info(self.path)


@contextmanager
def name_errors(name: str, done: str = "read") -> Iterator[None]:
    """Replace an error of a file system by an InputError of one line that names the file."""
    try:
        yield
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name}: cannot be {done} ({first_line(error)})") from None
