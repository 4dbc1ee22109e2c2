"""Ledger: the records of finished runs in a file of JSON lines, each with the digest of its spec.

Every line begins with its checksum, see :func:`mggcn._io.files.sealed`; lines of earlier versions have none. A killed
process may leave a last line without its end. Such a line is skipped with a warning when the file is read, and removed
before the next line is written.
"""

import fcntl
import json
import os
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO, TypedDict

from mggcn._io.files import parse_json, sealed, typed, unsealed
from mggcn._io.regular import open_regular, open_to_append
from mggcn._io.temporary import name_errors
from mggcn.errors import InputError, InputWarning
from mggcn.training import RunRecord


class Ledger:
    """Records by the digest of their spec: read when the ledger is opened, written to the disk as they are added.

    Args:
        path: the file; created with the first record.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: dict[str, RunRecord] = {}
        if path.exists():
            with open_regular(path) as file:
                fcntl.flock(file, fcntl.LOCK_SH)  # until the file is closed
                whole, _, tail = file.read().rpartition(b"\n")
            for number, line in enumerate(whole.splitlines(), 1):
                spec, record = self._parse(number, line)
                self.records[spec] = record
            if _is_whole(tail[:-1]):
                raise InputError(f"{path}: the end of the last line is damaged")
            if tail:
                what = "the last line is not whole, as a killed command leaves it; left out"
                warnings.warn(f"{path}: {what}", InputWarning, stacklevel=2)

    def add(self, spec: str, record: RunRecord) -> None:
        """Append a record and flush it to the disk; other processes may do the same."""
        line = sealed(json.dumps({"spec": spec, **asdict(record)}), " ") + b"\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with name_errors(self.path), open_to_append(self.path) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            cut_torn_line(file)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self.records[spec] = record

    def unfinished(self, spec: str) -> Path:
        """The folder for the checkpoints of a run whose record is not in the ledger yet."""
        return self.path.parent / f"unfinished-{spec[:16]}"

    def _parse(self, number: int, line: bytes) -> tuple[str, RunRecord]:
        try:
            values = parse_json(unsealed(line)[0])
            spec = typed(_Line, values)["spec"]
            return spec, RunRecord.of({name: value for name, value in values.items() if name != "spec"})
        except ValueError as error:
            raise InputError(f"{self.path}: line {number}: not the record of a run ({error})") from None


class _Line(TypedDict):
    """What a line holds beside the record."""

    spec: str


def _is_whole(line: bytes) -> bool:
    try:
        return unsealed(line)[1]
    except ValueError:
        return False


def cut_torn_line(file: BinaryIO) -> None:
    """Remove everything after the last end of a line."""
    end = file.seek(0, os.SEEK_END)
    start, tail = end, b""
    while start > 0 and b"\n" not in tail:
        step = min(start, 1 << 16)
        start -= step
        file.seek(start)
        tail = file.read(step)
    whole = start + tail.rfind(b"\n") + 1
    if whole < end:
        file.truncate(whole)
    file.seek(0, os.SEEK_END)
