"""The record of a finished run in its folder, and what shows that a run is not finished."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypedDict

from mggcn._io import regular
from mggcn._io.files import parse_json, sealed, typed, unsealed
from mggcn.errors import InputError
from mggcn.training._record import RunRecord

RECORD, CONFIG, CHECKPOINT = "record.json", "config.toml", "checkpoint"
"""What the folder of a run holds; the record is written last, and then checkpoints are removed."""


def is_unfinished(folder: Path) -> bool:
    """Whether a folder is that of a run which is still being trained or was interrupted."""
    return (folder / CONFIG).is_file() and (folder / CHECKPOINT).is_dir() and not (folder / RECORD).exists()


def unfinished(folder: Path) -> str:
    """The problem with the folder of a run that is not finished."""
    return f"{folder}: a run that is not finished; mggcn.resume({str(folder)!r}) continues it"


def record_content(record: RunRecord, files: Mapping[str, bytes]) -> bytes:
    """The content of a ``record.json``, with its checksum and those of the files beside it."""
    checksums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return sealed(json.dumps({"files": checksums, **asdict(record)}, indent=2) + "\n")


def read_record(path: Path) -> tuple[RunRecord, dict[str, str]]:
    """A ``record.json``, and the checksums of the files beside it; of a folder of an earlier version there are none."""
    try:
        content, is_sealed = unsealed(regular.read(path))
        return parse_record(parse_json(content), is_sealed=is_sealed)
    except ValueError as error:
        raise InputError(f"{path}: not a run record ({error})") from None


def parse_record(values: Any, *, is_sealed: bool) -> tuple[RunRecord, dict[str, str]]:
    """A parsed record.json as a record, and the checksums of the files beside it."""
    if not is_sealed:
        return RunRecord.of(values), {}
    checksums = typed(_Checksums, values)["files"]
    return RunRecord.of({name: value for name, value in values.items() if name != "files"}), checksums


class _Checksums(TypedDict):
    """What a record.json holds beside the record."""

    files: dict[str, str]
