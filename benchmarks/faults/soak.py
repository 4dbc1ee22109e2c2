"""The soak test: one process runs ``mggcn compare`` over all methods again and again, and must not grow."""

import contextlib
import io
import os
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.faults.stage import Stage
from mggcn import cli

_COMMAND = "compare tiny --methods {} --seeds 1 --set epochs=2 --quiet --out out"
_FEW_METHODS = "mg-gcn,sgc,label-propagation"
_FEWEST = 2  # rounds
_GROWTH = 0.02  # of resident memory, from the second quarter of the rounds to the last


@dataclass(frozen=True)
class Usage:
    """What the process uses after a round."""

    descriptors: int
    threads: int
    children: int
    files: int
    resident: int

    @classmethod
    def now(cls) -> "Usage":
        """Measure it."""
        status = Path("/proc/self/status").read_text().splitlines()
        resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        threads = _count("/proc/self/task")
        return cls(_count("/proc/self/fd"), threads, len(children), _count("tmp"), resident >> 10)


def _count(folder: str) -> int:
    return len(list(Path(folder).iterdir()))


def problem(usages: list[Usage]) -> str:
    """What grew from the second round on, when everything is loaded; empty if nothing did."""
    for name in ("descriptors", "threads", "children", "files"):
        first, last = getattr(usages[1], name), getattr(usages[-1], name)
        if last > first:
            return f"{name}: {first} after the second round, {last} after the last"
    quarter = max(1, len(usages) // 4)
    before = statistics.median(each.resident for each in usages[quarter : 2 * quarter] or usages[1:])
    after = statistics.median(each.resident for each in usages[-quarter:])
    grown = after - before
    return f"resident memory: {before} MiB, then {after} MiB" if grown > max(4, _GROWTH * before) else ""


def soak(minutes: float, stage: Stage) -> tuple[str, list[Usage]]:
    """Run rounds in this process for so long; return the problem, and what was used after each round.

    In less than a minute only a few methods are compared.
    """
    usages: list[Usage] = []
    methods = "all" if minutes >= 1 else _FEW_METHODS
    with stage.copy() as folder, contextlib.chdir(folder):
        Path("tmp").mkdir()
        tempfile.tempdir = str(folder / "tmp")
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end or len(usages) < _FEWEST:
            said = io.StringIO()
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                code = cli.main(_COMMAND.format(methods).split())
            if code:
                return f"round {len(usages) + 1}: exit code {code}: {said.getvalue().strip()[-400:]}", usages
            shutil.rmtree("out")
            usages.append(Usage.now())
    tempfile.tempdir = None
    return problem(usages), usages
