"""Ledger: the records of finished runs in a log, each with the digest of its spec."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, TypedDict

from mggcn._io.files import typed
from mggcn._io.log import Log
from mggcn.training import RunRecord


class Ledger:
    """Records by the digest of their spec: read when the ledger is opened, written to the disk as they are added.

    Args:
        path: the file; created with the first record.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._log = Log(path, "the record of a run", _parse)
        self.records: dict[str, RunRecord] = dict(self._log.read())

    def add(self, spec: str, record: RunRecord) -> None:
        """Append a record and flush it to the disk; other processes may do the same."""
        self._log.append({"spec": spec, **asdict(record)})
        self.records[spec] = record

    def unfinished(self, spec: str) -> Path:
        """The folder for the checkpoints of a run whose record is not in the ledger yet."""
        return self.path.parent / f"unfinished-{spec[:16]}"


class _Line(TypedDict):
    """What a line holds beside the record."""

    spec: str


def _parse(values: dict[str, Any]) -> tuple[str, RunRecord]:
    spec = typed(_Line, values)["spec"]
    return spec, RunRecord.of({name: value for name, value in values.items() if name != "spec"})
