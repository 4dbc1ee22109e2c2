"""The trials of a search on disk, as a backend of Optuna's journal: JSON lines that begin with their checksums."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mggcn._io import regular
from mggcn._io.files import parse_json, sealed, unsealed
from mggcn._io.temporary import name_errors
from mggcn.errors import InputError


class Journal:
    """Appends to a file of lines and reads them; lines of earlier versions have no checksum.

    The folder of the search is locked by its one writer, so there is no lock here.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read_logs(self, log_number_from: int) -> Iterator[dict[str, Any]]:
        """The entries from a number on."""
        for number, line in enumerate(regular.read(self._path).splitlines()):
            if number >= log_number_from:
                yield self._parse(number + 1, line)

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Append entries and flush them to the disk."""
        with name_errors(self._path), regular.open_to_append(self._path) as file:
            file.write(b"".join(sealed(json.dumps(log), " ") + b"\n" for log in logs))
            file.flush()
            os.fsync(file.fileno())

    def _parse(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            values = parse_json(unsealed(line)[0])
        except ValueError as error:
            raise InputError(f"{self._path}: line {number}: not an entry of a journal of trials ({error})") from None
        if not isinstance(values, dict):
            raise InputError(f"{self._path}: line {number}: not an entry of a journal of trials")
        return values
