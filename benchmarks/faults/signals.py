"""Ctrl-C and SIGTERM at random moments: one line, the right exit code, in time, and nothing left."""

import signal
from pathlib import Path
from random import Random

from benchmarks.faults.commands import ALL, arguments
from benchmarks.faults.kills import duration
from benchmarks.faults.processes import Ended, Process
from benchmarks.faults.stage import Stage, temporary_files
from benchmarks.faults.whole import torn

SECONDS = 3.0
_PATIENCE = 2.0  # seconds that a command waits at most; the rest of its time on a quiet machine is computing
_IMPORT_SECONDS = 5.0
_FRESH = 8  # one of so many starts an interpreter
_WORDS = {signal.SIGINT: "mggcn: interrupted", signal.SIGTERM: "mggcn: terminated"}


def case(number: int, draw: Random, stage: Stage) -> tuple[str, str]:
    """Interrupt one command; return what was done, and the problem."""
    line = list(ALL.values())[number % len(ALL)]
    command, fresh = arguments(line, draw), draw.randrange(_FRESH) == 0
    moment = 0.05 + draw.random() * (duration(stage, line) + fresh * _IMPORT_SECONDS)
    signal_number = draw.choice([signal.SIGINT, signal.SIGTERM])
    what = f"mggcn {' '.join(command)}, {signal_number.name} after {moment:.3f} s{' of a new interpreter' * fresh}"
    with stage.copy() as folder:
        process = Process(command, folder, fresh=fresh)
        if process.ended(moment):
            ended = process.result()
            return what, "" if ended.code == 0 else f"it had ended before: {ended}"
        process.send(signal_number)
        ended = process.result(30)
        return what, _problem(ended, signal_number) or _left(folder) or torn(folder)


def _problem(ended: Ended, number: signal.Signals) -> str:
    said = ended.error.count(_WORDS[number])
    if ended.code == 0 and not said:
        return ""  # it had done everything
    if ended.code != 128 + number or said != 1 or "Traceback" in ended.error:
        return str(ended)
    quiet = min(ended.seconds, ended.cpu_seconds + _PATIENCE)
    return f"ended after {ended.seconds:.1f} s, of {ended.cpu_seconds:.1f} s computing" if quiet > SECONDS else ""


def _left(folder: Path) -> str:
    left = [*temporary_files(folder), *(f"tmp/{path.name}" for path in (folder / "tmp").iterdir())]
    return f"left: {', '.join(left)}" if left else ""
