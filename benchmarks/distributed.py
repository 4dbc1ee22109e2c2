"""Measure training by several ranks.

    python benchmarks/distributed.py equal --repeats 50
    python benchmarks/distributed.py speed reddit-like:0.1
    python benchmarks/distributed.py gpu reddit-like
    python benchmarks/distributed.py lost
    python benchmarks/distributed.py namespaces

``equal`` trains Cora and digits by one process and again and again by two ranks, with uneven last batches and one that
is smaller than the number of ranks; losses must be equal within 1e-6, and no repeat may hang. ``speed`` compares an
epoch of two ranks that have one core each with that of one process that has two, and of one that has one. ``gpu``
compares an epoch of one rank on a GPU with that of a process without ranks; the weights must be equal. ``lost``
kills and stops a rank, of two and of four, and measures the time until all others have ended; their errors must name
it. ``namespaces``, for the superuser, trains by two ranks in two network namespaces of this machine, as on two
machines, kills one, and resumes. All but ``gpu`` runs on CPUs. The exit code is 1 if a target is missed.
"""

import argparse
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_CASES = {  # training nodes: 1,208 of Cora, 1,078 of digits
    "cora, last batch of 184": ("cora", 256),
    "cora, last batch of 3": ("cora", 241),
    "cora, last batch of 1": ("cora", 71),
    "digits, last batch of 54": ("digits", 256),
    "digits, last batch of 1": ("digits", 359),
}
_MODULE = [sys.executable, "-m", "mggcn", "train"]
_ON_ONE_CORE = """
import os, sys
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
from mggcn.cli import main
sys.exit(main())
"""
_QUIET = ["--no-report", "--quiet"]
_PLAIN = ["--device", "cpu", *_QUIET]
_EXACT = ["patience=1000", "dropout=0", "input_dropout=0"]
_TOLERANCE, _RATIO, _GPU_RATIO, _SECONDS = 1e-6, 1.2, 1.1, 60.0
_ADDRESSES = ("10.77.0.1", "10.77.0.2")

Variants = dict[str, tuple[list[str], str]]
"""For each name the beginning of a command, and its number of threads."""


def equal(repeats: int, epochs: int, limit: float) -> int:
    """Compare two ranks with one process; return how many repeats differed or took too long."""
    failed, largest = 0, 0.0
    with tempfile.TemporaryDirectory() as scratch:
        alone = {name: _record(_MODULE, case, epochs, Path(scratch) / name, limit) for name, case in _CASES.items()}
        for number in range(repeats):
            name = list(_CASES)[number % len(_CASES)]
            try:
                record = _record(_torchrun(2), _CASES[name], epochs, Path(scratch) / str(number), limit)
            except subprocess.TimeoutExpired:
                failed += 1
                _print(f"{number + 1:4d} {name}: HANGS")
                continue
            difference = _difference(alone[name], record)
            failed += difference > _TOLERANCE
            largest = max(largest, difference)
            _print(f"{number + 1:4d} {name}: losses differ by {difference:.1e} at most")
    _print(
        f"{repeats - failed} of {repeats} repeats equal within {_TOLERANCE:g}, {largest:.1e} at most; {epochs} epochs"
    )
    return failed


def _record(start: list[str], case: tuple[str, int], epochs: int, out: Path, limit: float) -> dict[str, Any]:
    """The record of a run on one of the cases."""
    dataset, batch_size = case
    options = ["--epochs", str(epochs), "--set", *_EXACT, f"batch_size={batch_size}", "--out", str(out)]
    _finish([*start, dataset, *options, *_PLAIN], limit)
    (path,) = out.glob("*/record.json")
    record: dict[str, Any] = json.loads(path.read_text())
    return record


def _difference(one: dict[str, Any], other: dict[str, Any]) -> float:
    pairs = zip(one["curve"], other["curve"], strict=True)
    return max(abs(a[name] - b[name]) for a, b in pairs for name in ("train_loss", "val_loss"))


def _finish(command: list[str], limit: float, **variables: str) -> None:
    """Run a command to its end; with the ranks that it has started it is killed after ``limit`` seconds."""
    with _started(command, **variables) as process:
        _, errors = process.communicate(timeout=limit)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}: {errors}")


@contextmanager
def _started(command: list[str], **variables: str) -> Iterator["subprocess.Popen[str]"]:
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env={**os.environ, **variables}) as process:  # noqa: S603
        try:
            yield process
        finally:
            for pid in [*_children(process.pid), process.pid]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    """All processes below a process."""
    found = Path(f"/proc/{pid}/task/{pid}/children")
    direct = [int(word) for word in found.read_text().split()] if found.exists() else []
    return [below for child in direct for below in [*_children(child), child]]


def _torchrun(ranks: int, *options: str) -> list[str]:
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    return [*start, *options, "-m", "mggcn", "train"]


def speed(dataset: str, epochs: int, rounds: int) -> int:
    """Compare the time of an epoch, in turn; return 1 if two ranks take too long."""
    variants: Variants = {
        "one process with two cores": (_MODULE, "2"),
        "one process with one core": ([sys.executable, "-c", _ON_ONE_CORE, "train"], "1"),
        "two ranks with one core each": (_torchrun(2), "1"),
    }
    times = {
        name: [seconds for seconds, _ in found] for name, found in _epochs(dataset, epochs, rounds, variants).items()
    }
    two_cores, one_core, ranks = (statistics.median(seconds) for seconds in times.values())
    _print(
        f"two ranks take {ranks / two_cores:.2f} times as long as one process with two cores, {ranks / one_core:.2f} "
        f"times as long as one with one core; medians of {rounds} rounds, {epochs} epochs each"
    )
    return int(ranks / two_cores >= _RATIO)


def gpu(dataset: str, epochs: int, rounds: int) -> int:
    """Compare one nccl rank with a process without ranks; return 1 if it takes too long or ends with other weights."""
    variants: Variants = {"one process": (_MODULE, "1"), "one rank": (_torchrun(1), "1")}
    found = _epochs(dataset, epochs, rounds, variants, device="cuda")
    alone, rank = (statistics.median(seconds for seconds, _ in each) for each in found.values())
    is_equal = len({weights for each in found.values() for _, weights in each}) == 1
    _print(
        f"one nccl rank takes {rank / alone:.3f} times as long as a process without ranks; all weights are "
        f"{'bit-equal' if is_equal else 'NOT EQUAL'}; medians of {rounds} rounds, {epochs} epochs each"
    )
    return int(rank / alone >= _GPU_RATIO or not is_equal)


def _epochs(
    dataset: str, epochs: int, rounds: int, variants: Variants, device: str = "cpu"
) -> dict[str, list[tuple[float, bytes]]]:
    """For each variant the time of an epoch and the final weights, of every round."""
    found: dict[str, list[tuple[float, bytes]]] = {name: [] for name in variants}
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(rounds):
            for name, (start, threads) in variants.items():
                out = Path(scratch) / f"{name} {number}"
                options = ["--epochs", str(epochs), "--set", "patience=1000", "--out", str(out), *_QUIET]
                _finish([*start, dataset, *options, "--device", device], 3600, OMP_NUM_THREADS=threads)
                (path,) = out.glob("*/record.json")
                curve = json.loads(path.read_text())["curve"][1:]  # the first epoch warms caches up
                seconds = statistics.median(epoch["train_seconds"] for epoch in curve)
                found[name].append((seconds, path.with_name("weights.safetensors").read_bytes()))
                _print(f"{dataset}, {name}: {seconds:.4g} s an epoch")
    return found


def lost() -> int:
    """Kill and stop ranks; return how often the others took too long or named another rank."""
    failed = 0
    for size in (2, 4):
        for number, what in ((signal.SIGKILL, "killed"), (signal.SIGSTOP, "stopped")):
            for rank in (0, size - 1):
                seconds, messages = _lose(size, rank, number)
                is_named = all(f"error: rank {rank}:" in message for message in messages)
                failed += seconds > _SECONDS or not is_named
                named = "all others name it" if is_named else f"NOT NAMED: {messages}"
                _print(f"rank {rank} of {size} {what}: the others end after {seconds:.1f} s; {named}")
    return failed


def _lose(size: int, rank: int, number: int) -> tuple[float, list[str]]:
    """Send a signal to one of some ranks without torchrun; return when the others end, and what they print."""
    with tempfile.TemporaryDirectory() as scratch, suppress(ProcessLookupError):
        ranks = []
        common = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
        command = [*_MODULE, "digits", "--epochs", "100000", "--set", "patience=100000", "--out", scratch, *_PLAIN]
        for local in range(size):
            variables = {**os.environ, **common, "RANK": str(local), "LOCAL_RANK": str(local)}
            ranks.append(subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True))  # noqa: S603
        try:
            _wait(lambda: any(Path(scratch).glob("*/checkpoint/lock")), ranks)
            time.sleep(5)  # into the epochs
            ranks[rank].send_signal(number)
            started = time.monotonic()
            others = [process for process in ranks if process is not ranks[rank]]
            messages = [process.communicate(timeout=4 * _SECONDS)[1] for process in others]
            return time.monotonic() - started, messages
        finally:
            for process in ranks:
                process.kill()
                process.communicate()
    raise AssertionError("the block returns")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _wait(condition: Callable[[], bool], processes: "list[subprocess.Popen[str]]") -> None:
    while not condition():
        for process in processes:
            if process.poll() is not None:
                raise SystemExit(f"ended too early: {process.communicate()}")
        time.sleep(0.05)


def namespaces(dataset: str, epochs: int) -> int:
    """Train in two network namespaces, and resume there after a kill; return 1 if the result is another."""
    with tempfile.TemporaryDirectory() as scratch, _two_namespaces() as names:
        options = ["--epochs", str(epochs), "--set", *_EXACT, "--checkpoint-every", "0", *_PLAIN]
        alone = Path(scratch) / "alone"
        _finish([*_MODULE, dataset, *options, "--out", str(alone)], 3600)
        out = Path(scratch) / "two"
        with _on_both(names, [dataset, *options, "--out", str(out)]) as jobs:
            _wait(lambda: len([*out.glob("*/checkpoint/*.json")]) > 1, jobs)
            for pid in _children(jobs[1].pid):
                os.kill(pid, signal.SIGKILL)
            for job in jobs:
                job.communicate(timeout=3 * _SECONDS)
        (folder,) = out.iterdir()
        reached = max(int(path.stem) for path in folder.glob("checkpoint/*.json"))
        _print(f"{dataset} on {' and '.join(_ADDRESSES)}: killed after epoch {reached}")
        with _on_both(names, ["--resume", str(folder), "--no-report", "--quiet"]) as jobs:
            for job in jobs:
                _, errors = job.communicate(timeout=3600)
                if job.returncode:
                    raise SystemExit(f"exit code {job.returncode}: {errors}")
        records = [json.loads(path.read_text()) for path in (*alone.glob("*/record.json"), folder / "record.json")]
        difference = _difference(*records)
        _print(
            f"resumed {records[1]['resumed']} time, {records[1]['epochs']} epochs, losses differ from those of one "
            f"process by {difference:.1e} at most"
        )
        return int(difference > _TOLERANCE or records[1]["resumed"] != 1)


@contextmanager
def _on_both(names: list[str], arguments: list[str]) -> "Iterator[list[subprocess.Popen[str]]]":
    """A command under torchrun in both namespaces, one rank in each."""
    options = ["--nnodes", "2", "--nproc-per-node", "1", "--master-addr", _ADDRESSES[0], "--master-port", "29500"]
    with _in(names[0], 0, options, arguments) as first, _in(names[1], 1, options, arguments) as second:
        yield [first, second]


@contextmanager
def _in(name: str, number: int, options: list[str], arguments: list[str]) -> "Iterator[subprocess.Popen[str]]":
    start = ["ip", "netns", "exec", name, sys.executable, "-m", "torch.distributed.run", *options]
    command = [*start, "--node-rank", str(number), "-m", "mggcn", "train", *arguments]
    with _started(command, GLOO_SOCKET_IFNAME=f"{name}-end") as process:
        yield process


@contextmanager
def _two_namespaces() -> Iterator[list[str]]:
    """Two network namespaces that are connected by a cable and nothing else."""
    names = [f"mggcn{os.getpid()}{letter}" for letter in "ab"]
    ends = [f"{name}-end" for name in names]
    try:
        for name in names:
            _ip("netns", "add", name)
        _ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for name, end, address in zip(names, ends, _ADDRESSES, strict=True):
            _ip("link", "set", end, "netns", name)
            _ip("-n", name, "address", "add", f"{address}/24", "dev", end)
            _ip("-n", name, "link", "set", end, "up")
            _ip("-n", name, "link", "set", "lo", "up")
        yield names
    finally:
        for name in names:
            with suppress(subprocess.CalledProcessError):
                _ip("netns", "delete", name)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)  # noqa: S603, S607


def _print(text: str) -> None:
    print(text, flush=True)  # noqa: T201


def main() -> int:
    """Run one measurement; the exit code is 0 if it met its target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    of_equal = commands.add_parser("equal")
    of_equal.add_argument("--repeats", type=int, default=50)
    of_equal.add_argument("--epochs", type=int, default=5)
    of_equal.add_argument("--limit", type=float, default=300.0, help="seconds after which a repeat hangs")
    of_speed = commands.add_parser("speed")
    of_speed.add_argument("dataset")
    of_speed.add_argument("--epochs", type=int, default=4)
    of_speed.add_argument("--rounds", type=int, default=3)
    of_gpu = commands.add_parser("gpu")
    of_gpu.add_argument("dataset")
    of_gpu.add_argument("--epochs", type=int, default=20)
    of_gpu.add_argument("--rounds", type=int, default=3)
    commands.add_parser("lost")
    of_namespaces = commands.add_parser("namespaces")
    of_namespaces.add_argument("--dataset", default="cora")
    of_namespaces.add_argument("--epochs", type=int, default=20)
    options = parser.parse_args()
    if options.command == "equal":
        return min(1, equal(options.repeats, options.epochs, options.limit))
    if options.command in ("speed", "gpu"):
        return (speed if options.command == "speed" else gpu)(options.dataset, options.epochs, options.rounds)
    return min(1, lost()) if options.command == "lost" else namespaces(options.dataset, options.epochs)


if __name__ == "__main__":
    sys.exit(main())
