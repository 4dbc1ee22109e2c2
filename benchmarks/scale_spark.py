"""Build data sets of accounts with Spark and with DuckDB from a simulated chain, and from one with four times the rows.

Each build is a process of its own. Recorded are its time, the largest memory of the Python process (Spark's JVM is
another one), the most disk space beside the input, and whether both folders have the same bytes.
"""

import argparse
import filecmp
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from footprint import memory_of, size_of

from mggcn._io.database import megabytes
from mggcn.ethereum import simulate
from mggcn.training._environment import describe

_FACTORS = (1, 4)
_ENGINES = ("duckdb", "spark")
_POLL = 0.05  # seconds
_FAST_START = "-XX:TieredStopAtLevel=1"  # Java compiles quickly instead of well, which chains of this size are worth


@dataclass(frozen=True)
class Build:
    """What a build took; sizes are in bytes, and the resident memory includes mapped files."""

    engine: str
    transactions: int
    accounts: int
    edges: int
    seconds: float
    stages: dict[str, float]
    resident: int
    anonymous: int
    disk: int
    folder: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``scale.py spark``."""
    parser.add_argument("--scale", type=float, default=0.1, help="of the smaller chain, as of mggcn ethereum simulate")
    parser.add_argument("--memory", default="2GB", help="of each engine")
    parser.add_argument("--cores", type=int, default=2, help="of Spark")
    parser.add_argument("--record", type=Path)


def main(options: argparse.Namespace) -> int:
    """Build all folders, and print and record what it took."""
    builds: list[Build] = []
    are_equal = True
    for factor in _FACTORS:
        with tempfile.TemporaryDirectory(prefix="scale-spark.") as name:
            work = Path(name)
            chain, labels = work / "chain.parquet", work / "labels.csv"
            size = simulate(chain, labels=labels, scale=options.scale * factor)
            for engine in _ENGINES:
                builds.append(_build(work, engine, size.transactions, options.memory, options.cores))
                print(_line(builds[-1]), flush=True)  # noqa: T201
            are_equal = are_equal and _have_same_bytes(*(work / engine / "out" for engine in _ENGINES))
    growth = {
        engine: round(builds[len(_ENGINES) + number].resident / builds[number].resident - 1, 4)
        for number, engine in enumerate(_ENGINES)
    }
    print(f"the same bytes: {are_equal}; growth of the memory: {growth}")  # noqa: T201
    if options.record:
        record = {"cores": options.cores, "memory": options.memory, "same_bytes": are_equal, "growth": growth}
        record |= {"builds": [asdict(build) for build in builds], "machine": describe()}
        options.record.write_text(json.dumps(record, indent=2) + "\n")
    return 0


def _build(work: Path, engine: str, transactions: int, memory: str, cores: int) -> Build:
    folder = work / engine
    folder.mkdir()
    command = ["ethereum", "build", str(work / "chain.parquet"), "--labels", str(work / "labels.csv")]
    command += ["--engine", engine, "--memory", memory, "--name", "ethereum:simulated-chain", "--out", f"{folder}/out"]
    options = {"spark.local.dir": folder, "spark.driver.extraJavaOptions": _FAST_START}
    configured = " ".join(f"--conf {key}={value}" for key, value in options.items())
    local = f"--master local[{cores}] --driver-memory {megabytes(memory)}m {configured} pyspark-shell"
    started, resident, anonymous, disk = time.perf_counter(), 0, 0, 0
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "mggcn", *command],
            stdout=subprocess.DEVNULL,
            stderr=log,
            env=os.environ | {"PYSPARK_SUBMIT_ARGS": local},
        )
        while process.poll() is None:
            now = memory_of(process.pid)
            resident, anonymous = max(resident, now.get("VmRSS", 0)), max(anonymous, now.get("RssAnon", 0))
            disk = max(disk, size_of(folder))
            time.sleep(_POLL)
        seconds = time.perf_counter() - started
        log.seek(0)
        lines = log.read().splitlines()
    if process.returncode:
        sys.exit("\n".join(lines[-5:]))
    meta = json.loads((folder / "out" / "meta.json").read_text())
    timed = (line.rsplit(maxsplit=2) for line in lines if line.endswith(" s"))
    return Build(
        engine=engine,
        transactions=transactions,
        accounts=meta["num_nodes"],
        edges=meta["num_edges"],
        seconds=round(seconds, 2),
        stages={name: float(duration) for name, duration, _ in timed},
        resident=resident,
        anonymous=anonymous,
        disk=max(disk, size_of(folder)),
        folder=size_of(folder / "out"),
    )


def _line(build: Build) -> str:
    memory = f"resident {build.resident / 2**20:.0f} MiB, anonymous {build.anonymous / 2**20:.0f} MiB"
    last = f"data set {build.stages.get('data set', 0):.1f} s"
    disk = (
        f"disk {build.disk / build.transactions:.0f} and folder {build.folder / build.transactions:.0f} bytes per row"
    )
    return f"{build.engine:<6} {build.transactions:>10,} rows in {build.seconds:.1f} s, {last}; {memory}; {disk}"


def _have_same_bytes(one: Path, other: Path) -> bool:
    names = sorted(path.name for path in one.iterdir())
    if names != sorted(path.name for path in other.iterdir()):
        return False
    _, different, unread = filecmp.cmpfiles(one, other, names, shallow=False)
    for name in (*different, *unread):
        print(f"{name} differs")  # noqa: T201
    return not different and not unread
