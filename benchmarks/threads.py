"""What threads cost and gain on a quiet and on a busy machine: steps of training with one thread and with several.

Each way to run is a process of its own, and all take turns in every round, so that whatever else the machine does
affects all of them alike. In busy rounds further processes compute without a pause.

``python -m benchmarks.threads --dataset pubmed --busy 2``
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

from cyclopts import App

from benchmarks.speed.load import busy_seconds

_NAMES = ("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
_WAYS: dict[str, dict[str, str]] = {
    "one thread": {"OMP_NUM_THREADS": "1"},
    "all threads, as OpenMP starts": {},
    "all threads, asleep while they wait": {"OMP_WAIT_POLICY": "passive"},
    "as `mggcn` starts": {},
}
_OWN = "as `mggcn` starts"
_PAUSE = 1.0  # seconds, until a load is what it is going to be
_COMPUTE = "while True: pass"

app = App(help=__doc__)


@contextmanager
def load(processes: int) -> Iterator[None]:
    """Keep some processes busy."""
    busy = [subprocess.Popen([sys.executable, "-c", _COMPUTE]) for _ in range(processes)]  # noqa: S603
    try:
        time.sleep(_PAUSE if busy else 0)
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


class Worker:
    """A process that trains some steps whenever it is asked to, and says how long they took."""

    def __init__(self, way: str, words: Sequence[str]) -> None:
        inherited = {name: value for name, value in os.environ.items() if name not in _NAMES}
        command = [sys.executable, "-m", "benchmarks.threads", "work", *words, *(["--own"] if way == _OWN else [])]
        environment = {**inherited, **_WAYS[way]}
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603
        self._answer()

    def seconds(self) -> float:
        """Train the steps and return how long they took."""
        if self._process.stdin is not None:
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> float:
        line = self._process.stdout.readline() if self._process.stdout is not None else b""
        if not line:
            raise SystemExit(f"a worker ended with exit code {self._process.wait()}")
        return float(line)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


@app.default
def main(dataset: str = "pubmed", busy: int = 2, rounds: int = 9, steps: int = 10) -> None:
    """Time the same steps in every way, first without and then with busy processes.

    Args:
        dataset: a known name or a dataset folder.
        busy: the number of processes that compute meanwhile.
        rounds: how often each way is timed.
        steps: training steps in a round.
    """
    print("| busy processes | way | median | least – largest | over one thread | cores in use |")  # noqa: T201
    print("|---:|---|---:|---:|---:|---:|")  # noqa: T201
    with ExitStack() as stack:
        words = ["--dataset", dataset, "--steps", str(steps)]
        workers = {way: stack.enter_context(closing(Worker(way, words))) for way in _WAYS}
        for count in (0, busy):
            with load(count):
                started, busy_before = time.perf_counter(), busy_seconds() or float("nan")
                timed = [{way: worker.seconds() for way, worker in workers.items()} for _ in range(rounds)]
                used = ((busy_seconds() or 0.0) - busy_before) / (time.perf_counter() - started)
            single = statistics.median(seconds["one thread"] for seconds in timed)
            for way in _WAYS:
                values = [seconds[way] for seconds in timed]
                median, ends = statistics.median(values), f"{min(values):.3f} s – {max(values):.3f} s"
                ratio = f"{median / single:.2f} ×"
                print(f"| {count} | {way} | {median:.3f} s | {ends} | {ratio} | {used:.1f} |", flush=True)  # noqa: T201


@app.command
def work(*, dataset: str, steps: int, own: bool = False) -> None:
    """Train steps whenever a line is read, and print how long they took.

    Args:
        dataset: a known name or a dataset folder.
        steps: training steps for each line.
        own: start as the command line does.
    """
    if own:
        from mggcn.__main__ import let_threads_sleep

        let_threads_sleep()
    from torch import device

    from benchmarks.speed.epoch import EpochRunner
    from mggcn.data import load as load_data
    from mggcn.runs import resolve

    data = load_data(dataset)
    plan = resolve("mg-gcn", data, {"portfolio": "none"})
    with EpochRunner(plan, data, device("cpu"), steps) as runner:
        runner()
        print(0, flush=True)  # noqa: T201
        for _ in sys.stdin:
            started = time.perf_counter()
            runner()
            print(time.perf_counter() - started, flush=True)  # noqa: T201


if __name__ == "__main__":
    app()
