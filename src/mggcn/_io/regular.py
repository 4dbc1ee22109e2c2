"""Opening files that may have been replaced: only regular ones, without waiting for a pipe and without creating more.

A pipe or a device in place of a file would hold a reader for ever, and a symbolic link in place of a lock or a journal
would create or change the file that it names.
"""

import errno
import os
import stat
from io import BufferedRandom, BufferedReader
from pathlib import Path

_NOT_REGULAR = (errno.ELOOP, errno.ENXIO, errno.ENODEV)  # a symbolic link, a socket, a device


def open_handle(path: Path, flags: int) -> int:
    """Open a regular file and return its descriptor; raise OSError if it is anything else.

    The ``flags`` are those of :func:`os.open`. A symbolic link is followed if the file is only read.
    """
    if flags & (os.O_RDWR | os.O_WRONLY):
        flags |= os.O_NOFOLLOW
    try:
        handle = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise _refusal(path) if error.errno in _NOT_REGULAR else error from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        os.close(handle)
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path)) if is_folder else _refusal(path)
    return handle


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file to read it."""
    return os.fdopen(open_handle(path, os.O_RDONLY), "rb")


def open_to_append(path: Path) -> BufferedRandom:
    """Open a regular file to read it and to append to it; created if it is missing."""
    return os.fdopen(open_handle(path, os.O_RDWR | os.O_CREAT | os.O_APPEND), "ab+")


def read(path: Path, most: int = -1) -> bytes:
    """The content of a regular file, of its first ``most`` bytes if that is not -1."""
    with open_regular(path) as file:
        return file.read(most)


def real(path: Path) -> Path:
    """The absolute path without symbolic links; a link that leads to itself stays."""
    return Path(os.path.realpath(path))


def _refusal(path: Path) -> OSError:
    return OSError(errno.EINVAL, f"{path.name} is a link, a pipe or a device, not a regular file", str(path))
