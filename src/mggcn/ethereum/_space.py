"""The disk space of a build, estimated from the number of its rows before it starts."""

import shutil
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyarrow import ArrowException, parquet

from mggcn._io.locations import Location, Source
from mggcn._io.memory import size
from mggcn.errors import InputError
from mggcn.ethereum._table_files import is_parquet, num_bytes, open_bytes

_FOLDER_BYTES = 150
_STAGE_BYTES = {"duckdb": 200, "spark": 400}
"""Of a row; what ``benchmarks/scale.py spark`` measures, rounded up. Spark's include what it shuffles."""
_SAMPLE = 1 << 20  # bytes of a text file in which rows are counted
_GZIP = 31  # what zlib calls the format


@dataclass(frozen=True)
class Space:
    """The bytes that a build needs for its stages at their largest, and for dataset folders; about.

    Attributes:
        rows: in the files, about.
        stages: of intermediate tables, and of what an engine writes because it exceeds its memory.
        folders: of the data set, and of its parts if it is joined from several.
    """

    rows: int
    stages: int
    folders: int

    @classmethod
    def of(cls, files: Sequence[Source], engine: str, num_folders: int = 1) -> "Space":
        """Estimate the space for files that an engine makes so many dataset folders of."""
        rows = sum(_num_rows(file) for file in files)
        return cls(rows, rows * _STAGE_BYTES[engine], rows * _FOLDER_BYTES * num_folders)

    def __str__(self) -> str:
        parts = f"{size(self.stages)} for stages, {size(self.folders)} for the data set"
        return f"{self.rows:,} rows need about {size(self.stages + self.folders)} of disk: {parts}"

    def check(self, out: Path, stages: Location) -> None:
        """Raise InputError if a disk of this machine is too small."""
        disks: dict[int, tuple[Path, Path, int]] = {}
        for folder, share in ((out, self.folders), (stages.local, self.stages)):
            if folder is not None:
                existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
                named, _, before = disks.get(existing.stat().st_dev, (folder, existing, 0))
                disks[existing.stat().st_dev] = named, existing, before + share
        for folder, existing, needed in disks.values():
            free = shutil.disk_usage(existing).free
            if needed > free:
                raise InputError(
                    f"{folder}: {self.rows:,} rows need about {size(needed)} of disk, and {size(free)} are free"
                )


def _num_rows(file: Source) -> int:
    """The number of rows of a Parquet file; about that of a text file, as its beginning suggests."""
    with open_bytes(file) as opened:
        if is_parquet(file):
            try:
                return int(parquet.read_metadata(opened).num_rows)
            except (ArrowException, OSError):  # reported when the file is read
                return 0
        sample = opened.read(_SAMPLE)
    try:
        text = zlib.decompressobj(_GZIP).decompress(sample) if file.suffix.lower() == ".gz" else sample
    except zlib.error:
        return 0
    rows = max(text.count(b"\n"), text.count(b"{"))
    return rows * num_bytes(file) // max(len(sample), 1)
