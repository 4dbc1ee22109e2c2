"""Too little disk, memory or descriptors, and missing permissions: one line that names the file or the limit."""

import os
import resource
from collections.abc import Callable
from pathlib import Path
from random import Random

from benchmarks.faults.commands import WRITING, arguments
from benchmarks.faults.processes import run
from benchmarks.faults.stage import Stage, temporary_files
from benchmarks.faults.whole import torn

_NOBODY = 65534
_MIB = 1 << 20
_SHORTAGES = ("disk", "permissions", "memory", "descriptors")
_PARTS = 4  # mggcn: error: FILE: PROBLEM
_NAMED = {
    "disk": ("",),
    "permissions": ("Permission denied",),
    "memory": ("memory", "ulimit -v", "allocate"),
    "descriptors": ("Too many open files",),
}


def case(number: int, draw: Random, stage: Stage) -> tuple[str, str]:
    """Run one command with too little; return what was done, and the problem."""
    shortage = _SHORTAGES[number % len(_SHORTAGES)]
    command = arguments(draw.choice(list(WRITING.values())), draw)
    with stage.copy() as folder:
        amount, before = _limit(shortage, draw, folder)
        what = f"mggcn {' '.join(command)}, with {amount}"
        ended = run(command, folder, before, seconds=60)
        os.chmod(folder, 0o755)  # noqa: S103, PTH101
        if ended.code == 0:
            return what, torn(folder)
        if not ended.one_line():
            return what, str(ended)
        if len(ended.error.split(": ")) < _PARTS or not any(word in ended.error for word in _NAMED[shortage]):
            return what, f"names nothing: {ended}"
        left = temporary_files(folder)
        return what, f"temporary files left: {', '.join(left)}" if left else torn(folder)


def _limit(shortage: str, draw: Random, folder: Path) -> tuple[str, Callable[[], None]]:
    """The shortage in words, and the function that causes it in a new process."""
    if shortage == "disk":
        size = draw.choice([0, 100, 1_000, 3_000, 10_000])
        return f"files of at most {size} bytes", lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    if shortage == "permissions":
        return "a folder that it may not write to", lambda: _become_nobody(folder)
    if shortage == "memory":
        more = draw.choice([1, 20, 100, 300, 700]) * _MIB
        return f"{more // _MIB} MiB of memory more", lambda: _limit_memory(more)
    most = draw.choice([0, 1, 2, 4, 8, 16])
    return f"{most} descriptors more", lambda: _limit_descriptors(most)


def _become_nobody(folder: Path) -> None:
    folder.chmod(0o555)
    (folder / "tmp").chmod(0o777)
    if os.getuid() == 0:  # whom permissions do not concern
        os.setgroups([])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)


def _limit_memory(more: int) -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + more, used + more))


def _limit_descriptors(more: int) -> None:
    used = max(int(path.name) for path in Path("/proc/self/fd").iterdir()) + 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + more, used + more))
