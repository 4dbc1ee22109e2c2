"""Commands in processes of their own, forked from one in which the libraries are imported already.

``import torch`` takes seconds, and a case needs a new process each time. A forked one runs ``mggcn.__main__.main``, as
the installed command does. ``fresh`` starts the interpreter instead, for faults while libraries are imported.
"""

import atexit
import faulthandler
import importlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_IMPORTED = (
    "torch.fx.experimental.symbolic_shapes",  # imported by the first backward pass
    "altair",
    "duckdb",
    "httpx",
    "ibis",
    "optuna",
    "pandas",
    "pyarrow.parquet",
    "sklearn.datasets",
    "sklearn.ensemble",
    "stamina",
    "starlette.applications",
    "uvicorn",
    *(f"mggcn.{part}" for part in ("cli", "experiments", "runs", "explore._server")),
    *(f"mggcn.ethereum.{part}" for part in ("_build", "_crawl", "_simulate")),
)
_STEP = 0.002  # seconds between two looks at a child


def import_libraries() -> None:
    """Import what commands import, without running any of it: threads do not survive a fork."""
    for name in _IMPORTED:
        importlib.import_module(name)


@dataclass(frozen=True)
class Ended:
    """A process that has ended.

    Attributes:
        code: the exit code; negative for the number of a signal that ended it.
        out: what it wrote to standard output.
        error: what it wrote to standard error.
        seconds: from its start, or from the last signal that was sent to it, to its end.
        cpu_seconds: that it computed in this time.
    """

    code: int
    out: str
    error: str
    seconds: float
    cpu_seconds: float

    def one_line(self) -> bool:
        """Whether it ended as bad input does: exit code 2 and one line, with no traceback."""
        lines = [line for line in self.error.splitlines() if not line.startswith("mggcn: warning: ")]
        return self.code == 2 and len(lines) == 1 and lines[0].startswith("mggcn: error: ")

    def __str__(self) -> str:
        return f"exit code {self.code} after {self.seconds:.1f} s: {self.error.strip()[-400:] or 'no message'}"


class Process:
    """A command that runs in a folder.

    Args:
        arguments: of ``mggcn``.
        folder: the working folder.
        before: is called in the new process, to limit what it may use.
        fresh: start a new interpreter instead of a fork.
    """

    def __init__(
        self, arguments: Sequence[str], folder: Path, before: Callable[[], object] | None = None, *, fresh: bool = False
    ) -> None:
        self._out, self._error = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        (folder / "tmp").mkdir(exist_ok=True)
        self._since, self._spent = time.monotonic(), 0.0
        if fresh:
            environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
            self.pid = subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", "mggcn", *arguments],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=self._out,
                stderr=self._error,
                preexec_fn=before,
                start_new_session=True,
            ).pid
            return
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _run(arguments, folder, self._out, self._error, before)

    def send(self, number: int) -> None:
        """Send a signal, to all processes that it has started as well if it is SIGKILL."""
        self._since, self._spent = time.monotonic(), _cpu_seconds(self.pid)
        with suppress(ProcessLookupError):
            if number == signal.SIGKILL:
                os.killpg(self.pid, number)
            else:
                os.kill(self.pid, number)

    def ended(self, seconds: float) -> bool:
        """Wait for its end for so long; whether it has ended."""
        end = time.monotonic() + seconds
        while os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() > end:
                return False
            time.sleep(_STEP)
        return True

    def result(self, seconds: float = 120.0) -> Ended:
        """Wait for its end, and kill it if that does not come in time."""
        if not self.ended(seconds):
            self.send(signal.SIGKILL)
        _, status, usage = os.wait4(self.pid, 0)
        seconds, computed = time.monotonic() - self._since, usage.ru_utime + usage.ru_stime - self._spent
        return Ended(os.waitstatus_to_exitcode(status), _content(self._out), _content(self._error), seconds, computed)


def run(
    arguments: Sequence[str],
    folder: Path,
    before: Callable[[], object] | None = None,
    *,
    fresh: bool = False,
    seconds: float = 120.0,
) -> Ended:
    """Run a command to its end."""
    return Process(arguments, folder, before, fresh=fresh).result(seconds)


def _cpu_seconds(pid: int) -> float:
    """What a process has computed so far."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _content(file: IO[bytes]) -> str:
    with file:
        file.seek(0)
        return file.read().decode(errors="replace")


def _run(
    arguments: Sequence[str], folder: Path, out: IO[bytes], error: IO[bytes], before: Callable[[], object] | None
) -> None:
    """What a forked process does: it ends as an interpreter does, without what its parent would do."""
    code: object = 1
    try:
        os.setsid()
        os.chdir(folder)
        with Path(os.devnull).open("rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(out.fileno(), 1)
        os.dup2(error.fileno(), 2)
        os.environ["TMPDIR"], tempfile.tempdir = str(folder / "tmp"), None
        sys.argv = ["mggcn", *arguments]
        faulthandler.enable(2)  # says where a process crashed
        atexit._clear()  # noqa: SLF001
        if before is not None:
            before()
        from mggcn.__main__ import main

        code = main()
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
        atexit._run_exitfuncs()  # noqa: SLF001
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)
