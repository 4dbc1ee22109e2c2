"""What the commands work on: small files of every kind, made once, and a copy of them for each case."""

import json
import os
import random
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.faults.processes import Process, run
from mggcn._io.temporary import is_temporary

_NODES, _EDGES = 60, 200
_EXPERIMENT = """
name = "small"
title = "Two variants"
reproduces = "nothing"
datasets = ["tiny"]
seeds = 1
settings = { epochs = 2 }

[[variant]]
label = "mg-gcn"
method = "mg-gcn"

[[variant]]
label = "sgc"
method = "sgc"
"""
_MADE = (
    "data import edges.csv --nodes nodes.csv --out tiny",
    "train tiny --epochs 2 --no-report --quiet --out made",
    "train tiny --epochs 2 --no-report --quiet --mmap --out made",
    "compare tiny --methods sgc,mlp --seeds 1 --set epochs=2 --quiet --out compared",
    "experiment run small.toml --quiet --out experimented",
    "report compared experimented --format json --out packed.json",
    "tune tiny --trials 2 --set epochs=1 --quiet --out tuned",
    "ethereum simulate --scale 0.001 --out chain.parquet",
    "ethereum build chain.parquet --labels chain.labels.csv --quiet --out accounts",
)
RUN = "made/tiny-mg-gcn-seed0"


class Stage:
    """A folder of inputs, copied for each case.

    Args:
        folder: to work in.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._base = folder, folder / "base"
        self._base.mkdir()
        _write_inputs(self._base)
        for line in _MADE:
            ended = run(line.split(), self._base)
            if ended.code:
                raise SystemExit(f"mggcn {line}: {ended}")
        _leave_half(self._base)
        shutil.rmtree(self._base / "tmp")

    @contextmanager
    def copy(self) -> Iterator[Path]:
        """A copy of the inputs, removed at the end."""
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        shutil.copytree(self._base, folder, dirs_exist_ok=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def staged() -> Iterator[Stage]:
    """A stage in a temporary folder; commands find no other data than its."""
    with tempfile.TemporaryDirectory(prefix="faults-") as scratch:
        os.environ["MGGCN_DATA"] = f"{scratch}/data"
        os.environ["ETHERSCAN_API_KEY"] = "key"
        yield Stage(Path(scratch))


def temporary_files(folder: Path) -> list[str]:
    """The temporary files and locks below a folder."""
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if is_temporary(path.name)]


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file below a folder with its content, and every folder."""
    paths = (path for path in folder.rglob("*") if path.relative_to(folder).parts[0] != "tmp")
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in paths}


def _write_inputs(folder: Path) -> None:
    draw = random.Random(0)  # noqa: S311
    edges = [(draw.randrange(_NODES), draw.randrange(_NODES)) for _ in range(_EDGES)]
    rows = [(node, draw.random(), draw.random(), "abc"[node % 3]) for node in range(_NODES)]
    (folder / "edges.csv").write_text("source,target\n" + "".join(f"{one},{two}\n" for one, two in edges))
    lines = [f"{node},{one:.3f},{two:.3f},{label}\n" for node, one, two, label in rows]
    (folder / "nodes.csv").write_text("id,one,two,label\n" + "".join(lines))
    (folder / "ids.txt").write_text("0\n1\n2\n")
    (folder / "small.toml").write_text(_EXPERIMENT)
    (folder / "list.json").write_text(json.dumps({f"0x{7:040x}": {"name": "A", "labels": ["exchange"]}}))
    np.savez(
        folder / "tiny.npz",
        num_nodes=np.int64(_NODES),
        edge_index=np.array(edges, np.int64).T,
        x=np.array([row[1:3] for row in rows], np.float32),
        y=np.arange(_NODES) % 3,
    )


def _leave_half(folder: Path) -> None:
    """A run that was interrupted after some checkpoints, as ``half``."""
    settings = "--epochs 100000 --set patience=100000 portfolio=none --checkpoint-every 0"
    line = f"train tiny {settings} --no-report --quiet --out half"
    process = Process(line.split(), folder)
    while not list(folder.glob("half/*/checkpoint/*.json")):
        if process.ended(0.01):
            raise SystemExit(f"mggcn {line}: {process.result()}")
    process.send(signal.SIGINT)
    process.result()
    (left,) = (folder / "half").iterdir()
    left.rename(folder / "unfinished")
    (folder / "half").rmdir()
