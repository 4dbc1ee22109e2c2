"""Changing files that begin with their checksum, as if the program had written them so."""

import hashlib
import json
from pathlib import Path
from typing import Any

from mggcn._io.files import checksummed, without_checksum


def values_of(path: Path) -> dict[str, Any]:
    """The values of a JSON file, without the checksum."""
    values: dict[str, Any] = json.loads(without_checksum(path.read_bytes()))
    return values


def update_run(folder: Path) -> None:
    """Write the record of a run folder with the checksums that its files have now."""
    record = values_of(folder / "record.json")
    record["files"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in record["files"]}
    write(folder / "record.json", record)


def line_of(line: bytes) -> dict[str, Any]:
    """The values of a line of a ledger, without the checksum."""
    values: dict[str, Any] = json.loads(without_checksum(line))
    return values


def checksummed_line(values: object) -> bytes:
    """A line of a ledger with its checksum."""
    return checksummed(json.dumps(values), " ") + b"\n"


def write(path: Path, values: object) -> None:
    """Write values with their checksum."""
    path.write_bytes(checksummed(json.dumps(values)))


def with_own_checksum(text: str) -> str:
    """Text whose checksum is that of another text, with its own."""
    return checksummed("{" + text.partition("\n")[2]).decode()
