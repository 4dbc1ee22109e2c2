"""Generate a graph of any size, and measure what mggcn does with it.

    python benchmarks/scale.py generate G --nodes 20000000
    python benchmarks/scale.py import G --memory 2GB --keep G-data
    python benchmarks/scale.py prepare G-data --cache G-cache
    python benchmarks/scale.py epoch G-data --cache G-cache --runs G-runs
    python benchmarks/scale.py predict G-data --cache G-cache --runs G-runs
    python benchmarks/scale.py spark --record benchmarks/results/scale/spark.json

``generate`` writes Parquet files of nodes and edges part by part; every value is a hash of its position, so a graph
depends on its size and seed only. A node has as many edges as ``--degree`` on average, most of them to nodes of its
class, and some nodes have far more; a feature is the mean of the class plus noise. ``import`` runs ``mggcn data import
--memory`` on them, ``prepare`` computes what MG-GCN needs before training into an empty cache, ``epoch`` trains and
``predict`` scores all nodes to Parquet, each in a process of its own, on the mapped folder and with the settings of the
paper: 5 picks, one draw. They print time, memory and disk space and write them to
``benchmarks/results/scale/WHAT-NODES.json``, from which ``docs/scale.md`` is made; ``--record`` names another file.
``epoch --leave 6GiB`` occupies the rest of the memory meanwhile; with ``--device cuda`` it is that of the GPU, which
then cannot hold the rows. ``spark`` builds data sets of a simulated chain, see
:mod:`scale_spark`.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import scale_spark
from footprint import memory_of, size_of
from numpy.typing import NDArray
from pyarrow import parquet

from mggcn._io.memory import amount, available
from mggcn.keys import GOLDEN, MASK, Key, folds
from mggcn.training._environment import describe

RESULTS = Path(__file__).resolve().parent / "results" / "scale"
CLASSES, FEATURES = 8, 64
SAME_CLASS = 0.7  # the share of edges within a class
SHARES = {"train": 0.05, "val": 0.005, "test": 0.02}
_SIGNAL = 0.25  # the deviation of class means; that of the noise is 1
_ROWS = 1 << 18  # of a part that is in memory
_ROWS_PER_FILE = 1 << 22
_POLL = 0.05  # seconds


@dataclass(frozen=True)
class Measured:
    """What a command took; sizes are in bytes, and the resident memory includes mapped files."""

    what: str
    nodes: int
    edges: int
    features: int
    seconds: float
    resident: int
    anonymous: int
    disk: int
    details: dict[str, Any]
    machine: dict[str, Any]


def generate(folder: Path, nodes: int, degree: float, seed: int) -> None:
    """Write ``nodes-*.parquet`` and ``edges-*.parquet``."""
    folder.mkdir(parents=True)
    key = Key.of(seed)
    means = _normal(key.fold("means"), 0, CLASSES * FEATURES).reshape(CLASSES, FEATURES) * np.float32(_SIGNAL)
    sources = {
        "nodes": (partial(_node_rows, key, means), nodes),
        "edges": (partial(_edge_rows, key, nodes), round(nodes * degree / 2)),
    }
    with ProcessPoolExecutor() as pool:
        files = [
            pool.submit(
                _write, folder / f"{stem}-{number:04d}.parquet", rows, start, min(start + _ROWS_PER_FILE, count)
            )
            for stem, (rows, count) in sources.items()
            for number, start in enumerate(range(0, count, _ROWS_PER_FILE))
        ]
        for file in files:
            file.result()


def _write(path: Path, rows: Callable[[int, int], pyarrow.Table], start: int, stop: int) -> None:
    bounds = [*range(start, stop, _ROWS), stop]
    tables = (rows(*part) for part in pairwise(bounds))
    first = next(tables)
    with parquet.ParquetWriter(path, first.schema, use_dictionary=False) as writer:
        for table in chain([first], tables):
            writer.write_table(table)


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


def measure_import(folder: Path, memory: str, keep: Path | None) -> Measured:
    """Import the generated tables; the data set is kept in a folder, or removed."""
    with tempfile.TemporaryDirectory(prefix=".import.", dir=folder) as work:
        out = Path(work) / "dataset"
        tables = [str(folder / "edges-*.parquet"), "--nodes", str(folder / "nodes-*.parquet")]
        took = _watch(["data", "import", *tables, "--memory", memory, "--out", str(out), "--quiet"], Path(work))
        measured = _measured("import", out, took, {"memory": memory, "folder": size_of(out)})
        if keep is not None:
            out.rename(keep)
        return measured


def measure_prepare(data: Path, cache: Path, memory: str) -> Measured:
    """Compute what MG-GCN needs before training."""
    if cache.exists() and any(cache.iterdir()):
        raise SystemExit(f"{cache}: not empty, so nothing would be computed")
    took = _watch([str(data), str(cache), memory], cache, program=("-c", _PREPARE))
    return _measured("prepare", data, took, {"memory": memory, "folder": size_of(cache)})


def measure_epoch(
    data: Path, cache: Path, runs: Path, epochs: int, batch_size: int, leave: str | None, device: str
) -> Measured:
    """Train some epochs; the time is the median of one, without evaluation."""
    ballast = (_occupied_gpu if device == "cuda" else _occupied)(amount(leave, "--leave")) if leave else None
    settings = [
        "--preset",
        "paper",
        "--epochs",
        str(epochs),
        "--set",
        f"batch_size={batch_size}",
        "--set",
        f"patience={epochs}",
    ]
    out = ["--device", device, "--mmap", "--cache", str(cache), "--out", str(runs), "--no-report", "--quiet"]
    took = _watch(["train", str(data), *settings, *out], runs)
    del ballast
    record = json.loads(max(runs.glob("*/record.json"), key=lambda path: path.stat().st_mtime).read_text())
    times = [epoch["train_seconds"] for epoch in record["curve"]]
    targets = record["dataset"]["split"][0]
    details = {"epochs": times, "targets": targets, "batch_size": batch_size, "leave": leave, "device": device}
    details |= {"started_after": record["prepare_seconds"], "accuracy": record["test_accuracy"]}
    return replace(_measured("epoch", data, took, details), seconds=round(statistics.median(times), 3))


def measure_predict(data: Path, cache: Path, runs: Path) -> Measured:
    """Score all nodes with the newest run, to Parquet."""
    run = max(runs.glob("*/record.json"), key=lambda path: path.stat().st_mtime).parent
    with tempfile.TemporaryDirectory(prefix=".predict.", dir=runs) as work:
        out = Path(work) / "predictions.parquet"
        how = ["--dataset", str(data), "--mmap", "--cache", str(cache), "--out", str(out)]
        took = _watch(["predict", str(run), *how], Path(work))
        return _measured("predict", data, took, {"file": out.stat().st_size})


_PREPARE = """
import sys
from mggcn import data, runs
from mggcn.keys import Key
from mggcn.training import choose_device
graph = data.load(sys.argv[1], mmap=True, cache=sys.argv[2], memory=sys.argv[3])
plan = runs.resolve("mg-gcn", graph, preset="paper")
plan.prepare(graph, Key.of(0), plan.compute(choose_device("cpu"), dataset=graph))
"""


def _watch(arguments: list[str], work: Path, program: tuple[str, ...] = ("-m", "mggcn")) -> dict[str, float]:
    """Run a command in a process of its own, and watch its memory and its files."""
    started, resident, anonymous, disk = time.perf_counter(), 0, 0, 0
    process = subprocess.Popen([sys.executable, *program, *arguments])  # noqa: S603
    while process.poll() is None:
        now = memory_of(process.pid)
        resident, anonymous = max(resident, now.get("VmRSS", 0)), max(anonymous, now.get("RssAnon", 0))
        disk = max(disk, size_of(work))
        time.sleep(_POLL)
    if process.returncode:
        raise SystemExit(process.returncode)
    seconds = round(time.perf_counter() - started, 2)
    return {"seconds": seconds, "resident": resident, "anonymous": anonymous, "disk": max(disk, size_of(work))}


def _measured(what: str, data: Path, took: dict[str, Any], details: dict[str, Any]) -> Measured:
    meta = json.loads((data / "meta.json").read_text())
    sizes = {"nodes": meta["num_nodes"], "edges": meta["num_edges"], "features": meta["num_features"]}
    return Measured(
        what=what, **sizes, **took, details={"command_seconds": took["seconds"], **details}, machine=describe()
    )


def _occupied(left: int) -> NDArray[np.uint8]:
    """An array in memory that leaves so many bytes."""
    free = available()
    if free is None or free <= left:
        raise SystemExit(f"--leave: {free} bytes are free")
    return np.ones(free - left, np.uint8)


def _occupied_gpu(left: int) -> object:
    """A tensor on the GPU that leaves so many bytes."""
    import torch

    free, _ = torch.cuda.mem_get_info()
    if free <= left:
        raise SystemExit(f"--leave: {free} bytes of the GPU are free")
    return torch.empty(free - left, dtype=torch.uint8, device="cuda")


def main() -> int:
    """Run one command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    generating = commands.add_parser("generate")
    generating.add_argument("--nodes", type=int, default=20_000_000)
    generating.add_argument("--degree", type=float, default=20.0)
    generating.add_argument("--seed", type=int, default=0)
    importing = commands.add_parser("import")
    importing.add_argument("--keep", type=Path)
    preparing, training, scoring = (commands.add_parser(name) for name in ("prepare", "epoch", "predict"))
    training.add_argument("--epochs", type=int, default=3)
    training.add_argument("--batch-size", type=int, default=4096)
    training.add_argument("--leave")
    training.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    for command in (importing, preparing):
        command.add_argument("--memory", default="2GB")
    for command in (training, scoring):
        command.add_argument("--runs", type=Path, required=True)
    for command in (preparing, training, scoring):
        command.add_argument("--cache", type=Path, required=True)
    for command in (importing, preparing, training, scoring):
        command.add_argument("--record", type=Path)
    for command in (generating, importing, preparing, training, scoring):
        command.add_argument("folder", type=Path)
    scale_spark.add_arguments(commands.add_parser("spark"))
    options = parser.parse_args()
    if options.command == "spark":
        return scale_spark.main(options)
    folder = options.folder
    if options.command == "generate":
        generate(folder, options.nodes, options.degree, options.seed)
        print(f"{len([*folder.iterdir()])} files, {size_of(folder) / 1e9:.2f} GB in {folder}")  # noqa: T201
        return 0
    if options.command == "import":
        measured = measure_import(folder, options.memory, options.keep)
    elif options.command == "prepare":
        measured = measure_prepare(folder, options.cache, options.memory)
    elif options.command == "epoch":
        how = (options.cache, options.runs, options.epochs, options.batch_size, options.leave, options.device)
        measured = measure_epoch(folder, *how)
    else:
        measured = measure_predict(folder, options.cache, options.runs)
    print(f"{measured.what}: {measured.nodes:,} nodes, {measured.edges:,} edges in {measured.seconds:.2f} s")  # noqa: T201
    print(f"resident {measured.resident / 2**30:.2f} GiB, anonymous {measured.anonymous / 2**30:.2f} GiB")  # noqa: T201
    print(f"disk {measured.disk / 1e9:.2f} GB at most; {measured.details}")  # noqa: T201
    ending = ""
    if options.command == "epoch":
        ending = ("-cuda" if options.device == "cuda" else "") + (f"-leave-{options.leave}" if options.leave else "")
    path = options.record or RESULTS / f"{measured.what}-{measured.nodes}{ending}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(measured), indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
