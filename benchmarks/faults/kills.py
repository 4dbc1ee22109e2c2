"""Kills at random moments: nothing is torn, and the next command leaves no temporary file."""

import signal
from functools import cache
from random import Random

from benchmarks.faults.commands import ALL, arguments
from benchmarks.faults.processes import Process, run
from benchmarks.faults.stage import Stage, temporary_files
from benchmarks.faults.whole import torn

_IMPORT_SECONDS = 5.0
_FRESH = 20  # one of so many starts an interpreter
_SERVED = 3.0  # seconds that explore runs


@cache
def duration(stage: Stage, line: str) -> float:
    """The seconds that a command takes when nothing disturbs it."""
    if line.startswith("explore"):
        return _SERVED
    with stage.copy() as folder:
        return run(arguments(line, Random(0)), folder).seconds  # noqa: S311


def case(number: int, draw: Random, stage: Stage) -> tuple[str, str]:
    """Kill one command; return what was done, and the problem."""
    line = list(ALL.values())[number % len(ALL)]
    command, fresh = arguments(line, draw), draw.randrange(_FRESH) == 0
    moment = draw.random() * (duration(stage, line) + fresh * _IMPORT_SECONDS)
    what = f"mggcn {' '.join(command)}, killed after {moment:.3f} s{' of a new interpreter' * fresh}"
    with stage.copy() as folder:
        process = Process(command, folder, fresh=fresh)
        process.ended(moment)
        process.send(signal.SIGKILL)
        process.result()
        if problem := torn(folder):
            return what, problem
        then = ["data", "info", "tiny"] if command[0] == "explore" else command
        ended = run(then, folder)
        if ended.code and not (ended.one_line() and _is_done(ended.error)):
            return what, f"the next command: {ended}"
        if left := temporary_files(folder):
            return what, f"temporary files after the next command: {', '.join(left)}"
        return what, torn(folder)


def _is_done(error: str) -> bool:
    """Whether a command was refused because the killed one had finished its work."""
    return "already exists" in error or "is finished" in error
