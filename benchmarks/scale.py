"""Generate a graph of any size, and measure what mggcn does with it.

    python benchmarks/scale.py generate G --nodes 20000000
    python benchmarks/scale.py import G --memory 2GB --record benchmarks/results/scale-import.json
    python benchmarks/scale.py spark --record benchmarks/results/scale-spark.json

``generate`` writes Parquet files of nodes and edges part by part; every value is a hash of its position, so a graph
depends on its size and seed only. A node has as many edges as ``--degree`` on average, most of them to nodes of its
class, and some nodes have far more; a feature is the mean of the class plus noise. ``import`` runs
``mggcn data import --memory`` on them and prints, and with ``--record`` writes, time, memory and disk space. ``spark``
builds data sets of a simulated chain, see :mod:`scale_spark`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import scale_spark
from numpy.typing import NDArray
from pyarrow import parquet

from mggcn.keys import GOLDEN, MASK, Key, folds
from mggcn.records.environment import describe

CLASSES, FEATURES = 8, 64
SAME_CLASS = 0.7  # the share of edges within a class
SHARES = {"train": 0.05, "val": 0.005, "test": 0.02}
_SIGNAL = 0.25  # the deviation of class means; that of the noise is 1
_ROWS = 1 << 18  # of a part that is in memory
_ROWS_PER_FILE = 1 << 22
_POLL = 0.05  # seconds


@dataclass(frozen=True)
class Import:
    """What an import took; sizes are in bytes, and the resident memory includes mapped files."""

    nodes: int
    edges: int
    memory: str
    seconds: float
    resident: int
    anonymous: int
    disk: int
    folder: int
    machine: dict[str, Any]


def generate(folder: Path, nodes: int, degree: float, seed: int) -> None:
    """Write ``nodes-*.parquet`` and ``edges-*.parquet``."""
    folder.mkdir(parents=True)
    key = Key.of(seed)
    means = _normal(key.fold("means"), 0, CLASSES * FEATURES).reshape(CLASSES, FEATURES) * np.float32(_SIGNAL)
    _write(folder / "nodes", (_node_rows(key, means, start, stop) for start, stop in _parts(nodes)))
    _write(folder / "edges", (_edge_rows(key, nodes, start, stop) for start, stop in _parts(round(nodes * degree / 2))))


def _parts(count: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + _ROWS, count)) for start in range(0, count, _ROWS))


def _node_rows(key: Key, means: NDArray[np.float32], start: int, stop: int) -> pyarrow.Table:
    ids = np.arange(start, stop)
    label = ids % CLASSES
    bounds = np.cumsum([*SHARES.values()])
    parts = np.array([*SHARES, ""])[np.searchsorted(bounds, _uniform(key.fold("split"), start, stop), side="right")]
    x = _normal(key.fold("x"), start * FEATURES, stop * FEATURES).reshape(-1, FEATURES) + means[label]
    columns = {f"x{number}": x[:, number] for number in range(FEATURES)}
    return pyarrow.table({"id": ids, "label": label.astype(np.int8), "split": parts, **columns})


def _edge_rows(key: Key, nodes: int, start: int, stop: int) -> pyarrow.Table:
    source, aim, stays = (_uniform(key.fold(name), start, stop) for name in ("source", "target", "stays"))
    source = (source * nodes).astype(np.int64)
    target = (aim**1.5 * nodes).astype(np.int64)  # small numbers more often
    same = np.minimum(target - target % CLASSES + source % CLASSES, nodes - 1)
    return pyarrow.table({"source": source, "target": np.where(stays < SAME_CLASS, same, target)})


def _hashes(key: Key, start: int, stop: int) -> NDArray[np.uint64]:
    return folds((key.value + GOLDEN * start) & MASK, stop - start)


def _uniform(key: Key, start: int, stop: int) -> NDArray[np.float64]:
    return (_hashes(key, start, stop) >> np.uint64(11)) * 2.0**-53


def _normal(key: Key, start: int, stop: int) -> NDArray[np.float32]:
    """Nearly normal: the sum of the four 16-bit parts of a hash, with mean 0 and deviation 1."""
    quarters = _hashes(key, start, stop).view(np.uint16).reshape(-1, 4).sum(axis=1, dtype=np.float32)
    return (quarters / np.float32(2**16) - np.float32(2)) * np.float32(3**0.5)


def _write(stem: Path, tables: Iterator[pyarrow.Table]) -> None:
    writer, number, rows = None, 0, 0
    for table in tables:
        if writer is None:
            writer = parquet.ParquetWriter(f"{stem}-{number:04d}.parquet", table.schema, use_dictionary=False)
        writer.write_table(table)
        rows += table.num_rows
        if rows >= _ROWS_PER_FILE:
            writer.close()
            writer, number, rows = None, number + 1, 0
    if writer is not None:
        writer.close()


def measure_import(folder: Path, memory: str) -> Import:
    """Import the generated tables in a process of its own, and watch its memory and its files."""
    with tempfile.TemporaryDirectory(prefix=".import.", dir=folder) as work:
        out = Path(work) / "dataset"
        tables = [str(folder / "edges-*.parquet"), "--nodes", str(folder / "nodes-*.parquet")]
        command = ["data", "import", *tables, "--memory", memory, "--out", str(out), "--quiet"]
        started, resident, anonymous, disk = time.perf_counter(), 0, 0, 0
        process = subprocess.Popen([sys.executable, "-m", "mggcn", *command])  # noqa: S603
        while process.poll() is None:
            now = _memory(process.pid)
            resident, anonymous = max(resident, now.get("VmRSS", 0)), max(anonymous, now.get("RssAnon", 0))
            disk = max(disk, _size(Path(work)))
            time.sleep(_POLL)
        seconds = time.perf_counter() - started
        if process.returncode:
            raise SystemExit(process.returncode)
        meta = json.loads((out / "meta.json").read_text())
        return Import(
            nodes=meta["num_nodes"],
            edges=meta["num_edges"],
            memory=memory,
            seconds=round(seconds, 2),
            resident=resident,
            anonymous=anonymous,
            disk=disk,
            folder=_size(out),
            machine=describe(),
        )


def _memory(process: int) -> dict[str, int]:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return {}
    fields = (line.split() for line in lines if line.startswith(("VmRSS:", "RssAnon:")))
    return {name.rstrip(":"): int(kilobytes) * 1024 for name, kilobytes, _ in fields}


def _size(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(parent) / name).stat().st_size
            except FileNotFoundError:  # removed meanwhile
                continue
    return total


def main() -> int:
    """Run one command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    generating = commands.add_parser("generate")
    generating.add_argument("--nodes", type=int, default=20_000_000)
    generating.add_argument("--degree", type=float, default=20.0)
    generating.add_argument("--seed", type=int, default=0)
    importing = commands.add_parser("import")
    importing.add_argument("--memory", default="2GB")
    importing.add_argument("--record", type=Path)
    for command in (generating, importing):
        command.add_argument("folder", type=Path)
    scale_spark.add_arguments(commands.add_parser("spark"))
    options = parser.parse_args()
    if options.command == "spark":
        return scale_spark.main(options)
    if options.command == "generate":
        generate(options.folder, options.nodes, options.degree, options.seed)
        files = list(options.folder.iterdir())
        print(f"{len(files)} files, {_size(options.folder) / 1e9:.2f} GB in {options.folder}")  # noqa: T201
        return 0
    measured = measure_import(options.folder, options.memory)
    sizes = f"{measured.nodes:,} nodes, {measured.edges:,} edges"
    print(f"{sizes} in {measured.seconds:.1f} s with --memory {options.memory}")  # noqa: T201
    print(f"resident {measured.resident / 2**30:.2f} GiB, anonymous {measured.anonymous / 2**30:.2f} GiB")  # noqa: T201
    print(f"disk {measured.disk / 1e9:.2f} GB at most, folder {measured.folder / 1e9:.2f} GB")  # noqa: T201
    if options.record:
        options.record.write_text(json.dumps(asdict(measured), indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
