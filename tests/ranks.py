"""Start commands and scripts as several ranks, with torchrun, and end them with all their processes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from tempfile import TemporaryDirectory

LIMIT = 300.0  # seconds, on a busy machine


def torchrun(ranks: int, *options: str) -> list[str]:
    """The start of a command line on one machine."""
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    return [*start, *options]


@contextmanager
def started(command: Sequence[str], **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A running job; at the end of the ``with`` block it and its ranks are killed if they are still there.

    torchrun leaves a folder for logs in that of temporary files, so it has one of its own.
    """
    with TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        variables = {**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": scratch, **environment}
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, stdout=pipe, stderr=pipe, text=True, env=variables, start_new_session=True
        ) as process:
            try:
                yield process
            finally:
                for child in [*children(process.pid), process.pid]:
                    with suppress(ProcessLookupError):
                        os.kill(child, signal.SIGKILL)


def finished(command: Sequence[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """A job that has ended by itself."""
    with started(command, **environment) as process:
        out, err = process.communicate(timeout=LIMIT)
        return subprocess.CompletedProcess(command, process.returncode, out, err)


def children(pid: int) -> list[int]:
    """The processes that a process has started: the ranks of a torchrun, in their order."""
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout
    return [int(word) for word in found.split()]
