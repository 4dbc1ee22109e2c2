"""An append-only log: a file of JSON objects, one in each line, that survives a kill of the process at any moment.

Every line begins with its checksum, see :func:`mggcn._io.files.checksummed`. A killed process may leave a last line
without its end. Such a line is left out when the file is read, and removed before the next line is written.
"""

import fcntl
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

from mggcn._io.files import checksummed, parse_json, without_checksum
from mggcn._io.regular import open_regular, open_to_append
from mggcn._io.temporary import name_errors
from mggcn.errors import InputError, InputWarning

T = TypeVar("T")


class Log(Generic[T]):
    """A log of entries, to which several processes may append.

    Args:
        path: the file; created with the first entry.
        what: what a line is, for errors, such as ``the record of a run``.
        parse: converts the object in a line to an entry; raises ValueError if the log cannot hold such an object.
    """

    def __init__(self, path: Path, what: str, parse: Callable[[dict[str, Any]], T]) -> None:
        self.path, self._what, self._parse = path, what, parse
        self._held: BinaryIO | None = None

    def read(self) -> list[T]:
        """All entries; a warning if the last line is not whole."""
        if not self.path.exists():
            return []
        with open_regular(self.path) as file:
            fcntl.flock(file, fcntl.LOCK_SH)  # until the file is closed
            content = file.read()
        entries = self._entries(content)
        if content and not content.endswith(b"\n"):
            what = "the last line is not whole, as a killed command leaves it; left out"
            warnings.warn(f"{self.path}: {what}", InputWarning, stacklevel=2)
        return entries

    def append(self, entry: Mapping[str, object]) -> None:
        """Append the object of an entry and flush it to the disk."""
        line = checksummed(json.dumps(entry), " ") + b"\n"
        if self._held is not None:
            self._write(self._held, line)
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with name_errors(self.path), open_to_append(self.path) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            _cut_torn_line(file)
            self._write(file, line)

    @contextmanager
    def held(self) -> Iterator[list[T]]:
        """Keep other processes from appending; yields the entries, after a last line that is not whole is removed."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open_to_append(self.path) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(f"{self.path}: another process is writing to it") from None
            file.seek(0)
            entries = self._entries(file.read())
            _cut_torn_line(file)
            self._held = file
            try:
                yield entries
            finally:
                self._held = None

    def _write(self, file: BinaryIO, line: bytes) -> None:
        with name_errors(self.path):
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def _entries(self, content: bytes) -> list[T]:
        *lines, tail = content.split(b"\n")
        if _is_whole(tail[:-1]):
            raise InputError(f"{self.path}: the end of the last line is damaged")
        return [self._entry(number, line) for number, line in enumerate(lines, 1)]

    def _entry(self, number: int, line: bytes) -> T:
        try:
            return self._parse(parse_json(without_checksum(line)))
        except ValueError as error:
            raise InputError(f"{self.path}: line {number}: not {self._what} ({error})") from None


def _is_whole(line: bytes) -> bool:
    try:
        return bool(without_checksum(line))
    except ValueError:
        return False


def _cut_torn_line(file: BinaryIO) -> None:
    """Remove everything after the last end of a line."""
    file.seek(max(file.seek(0, os.SEEK_END) - 1, 0))
    if file.read() not in (b"", b"\n"):
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
    file.seek(0, os.SEEK_END)
