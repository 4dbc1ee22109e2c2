"""Files of a build in object stores and on HDFS, named by addresses such as ``s3://bucket/folder``.

They are copied to the folder of the build first, because file formats are recognised from the files themselves, and
then read like any others. Credentials come from where pyarrow's file systems search them.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import fs

from mggcn.drafts import draft_folder
from mggcn.errors import InputError, first_line

_REMOTE = re.compile("[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_SAME_AS_S3 = re.compile("^s3[an]://")


@contextmanager
def local_files(names: Sequence[str | None], beside: Path) -> Iterator[list[Path | None]]:
    """Yield names as paths; files and folders at addresses are copied beside a folder and removed at the end."""
    if not any(name is not None and _REMOTE.match(name) for name in names):
        yield [None if name is None else Path(name) for name in names]
        return
    with draft_folder(beside) as folder:
        paths: list[Path | None] = []
        for number, name in enumerate(names):
            if name is not None and _REMOTE.match(name):
                paths.append(_copy(name, folder / str(number)))
            else:
                paths.append(None if name is None else Path(name))
        yield paths


def _copy(address: str, folder: Path) -> Path:
    """Copy a file or folder into a new folder under its own name."""
    try:
        system, path = _open(_SAME_AS_S3.sub("s3://", address))
        target = folder / Path(path).name
        kind = system.get_file_info(path).type
        if kind != fs.FileType.NotFound:
            (target if kind == fs.FileType.Directory else folder).mkdir(parents=True)
            fs.copy_files(path, str(target), source_filesystem=system, destination_filesystem=fs.LocalFileSystem())
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{address}: cannot be read ({first_line(error)})") from None
    if kind == fs.FileType.NotFound:
        raise InputError(f"{address}: no such file")
    return target


def _open(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it."""
    system, path = fs.FileSystem.from_uri(address)
    return system, path
