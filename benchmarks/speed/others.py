"""Other libraries, each timed in a separate process on the same graph and targets.

The processes run the package :mod:`benchmarks.speed.libraries` with the library's interpreter, which
need not have mggcn.
"""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.speed.options import Options
from benchmarks.speed.timing import Measurements
from mggcn.data import save
from mggcn.data._dataset import Dataset
from mggcn.runs import Plan

FANOUT = (25, 10)

_RUNS = {
    "pyg": {"pyg": "graphsage-mean", "pyg-cluster": "cluster-gcn"},
    "dgl": {"dgl": "graphsage-mean"},
}
_LABELS = {
    "pyg": "PyTorch Geometric NeighborLoader + SAGEConv (25, 10)",
    "pyg-cluster": "PyTorch Geometric ClusterLoader + SAGEConv",
    "dgl": "DGL NeighborSampler + SAGEConv (25, 10)",
}
_PARTS, _PARTS_A_STEP, _LEAST_PART = 1500, 20, 20
_GROUPS = 3
_LIMIT_SECONDS = 1800


def measure(measured: Measurements, options: Options, dataset: Dataset, *, hidden: int) -> None:
    """Add each library's epoch of GraphSAGE, extrapolated from some steps, or the reason why there is none."""
    measured.facts["libraries"] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = training_folder(dataset, Path(scratch))
        num_nodes = np.load(folder / "y.npy", mmap_mode="r").size
        request = {
            "threads": torch.get_num_threads(),
            "batch_size": options.batch_size,
            "hidden": hidden,
            "fanout": FANOUT,
            "steps": options.library_steps,
            "device": options.device,
            "variant": "edge_index",
            "num_parts": max(2, min(_PARTS, num_nodes // _LEAST_PART)),
            "parts_a_step": _PARTS_A_STEP,
        }
        for library in options.libraries:
            for run, method in _RUNS[library].items():
                answer = run_worker(
                    options.library_python.get(library, sys.executable), library, method, folder, request
                )
                measured.facts["libraries"][run] = answer
                _add(measured, run, answer)


def run_worker(python: str, library: str, method: str, folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    """Run the worker with an interpreter; return what it prints, or the reason of its failure as ``absent``."""
    root = Path(__file__).resolve().parents[2]
    interpreter = str(Path(python).absolute())
    paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "OMP_NUM_THREADS": str(request["threads"]), "DGLBACKEND": "pytorch"}
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    command = [
        interpreter,
        "-m",
        "benchmarks.speed.libraries.worker",
        library,
        method,
        str(folder.resolve()),
        json.dumps(request),
    ]
    try:
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, env=environment, cwd=root, timeout=_LIMIT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return {"library": library, "absent": f"not done within {_LIMIT_SECONDS} s"}
    except OSError as error:
        return {"library": library, "absent": f"its interpreter cannot be run ({error.strerror})"}
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {"library": library, "absent": lines[-1]}
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def step_means(answer: dict[str, Any]) -> list[float]:
    """The mean seconds of a step in each of a few groups of steps, so that an epoch has a spread."""
    steps = np.array(answer["step_seconds"])
    return [float(part.mean()) for part in np.array_split(steps, min(_GROUPS, steps.size))]


def _add(measured: Measurements, run: str, answer: dict[str, Any]) -> None:
    label = _LABELS[run]
    if "absent" in answer:
        measured.notes.append(f"{label}: not measured: {answer['absent']}")
        return
    groups, name = step_means(answer), run.replace("-", "_")
    basis = f"{len(answer['step_seconds'])} of {answer['steps_an_epoch']:,} steps, in {len(groups)} groups"
    measured.add(name, f"{label}, epoch", groups, factor=answer["steps_an_epoch"], basis=basis)
    measured.add(f"{name}_nodes", f"{label}, nodes a batch", answer["nodes"], unit="nodes")
    measured.add(f"{name}_memory", f"{label}, peak memory", [answer["peak_memory_bytes"]], unit="B")
    measured.add_ratio(name, f"{label} over our epoch", name, "epoch")


def training_data(plan: Plan, dataset: Dataset) -> Dataset:
    """The data set with the graph that is used in training."""
    if dataset.split is not None and plan.trains_on_part(dataset):
        return dataclasses.replace(dataset, graph=dataset.graph.subgraph(dataset.split.train), checked=True)
    return dataset


def training_folder(dataset: Dataset, scratch: Path) -> Path:
    """A dataset folder for training: the stored one, or a copy without the nodes that training leaves out."""
    if dataset.path is not None:
        return dataset.path
    if not dataset.inductive or dataset.split is None:
        stored = save(dataset, scratch / "data")
        return stored.path or scratch / "data"
    nodes = np.sort(dataset.split.train)
    row_of = np.full(dataset.num_nodes, -1, np.int64)
    row_of[nodes] = np.arange(nodes.size)
    rows = np.diff(dataset.graph.indptr)[nodes]
    parts = {
        "indptr": np.concatenate([[0], np.cumsum(rows)]),
        "indices": row_of[dataset.graph.indices],
        "x": np.asarray(dataset.x[nodes] if isinstance(dataset.x, np.ndarray) else dataset.x[nodes].toarray()),
        "y": dataset.y[nodes],
        "train": np.arange(nodes.size),
    }
    for name, array in parts.items():
        np.save(scratch / f"{name}.npy", array)
    return scratch
