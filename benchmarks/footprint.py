"""The memory of a process and the size of a folder, both while they change."""

import os
from pathlib import Path


def memory_of(process: int) -> dict[str, int]:
    """Resident (``VmRSS``) and anonymous (``RssAnon``) bytes of a process; nothing if it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return {}
    fields = (line.split() for line in lines if line.startswith(("VmRSS:", "RssAnon:")))
    return {name.rstrip(":"): int(kilobytes) * 1024 for name, kilobytes, _ in fields}


def size_of(folder: Path) -> int:
    """The bytes of all files in a folder."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(parent) / name).stat().st_size
            except FileNotFoundError:  # removed meanwhile
                continue
    return total
