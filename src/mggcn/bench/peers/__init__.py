"""Peers: GraphSAGE in PyTorch Geometric and DGL, each timed in a separate process on the same graph and targets."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mggcn import storage
from mggcn.bench._measurements import Measurements
from mggcn.bench.options import Options
from mggcn.dataset import Dataset
from mggcn.drafts import draft_folder

WORKER = Path(__file__).with_name("worker.py")
FANOUT = (25, 10)

_RUNS = {"pyg": ("pyg", "pyg-cluster"), "dgl": ("dgl",)}
_LABELS = {
    "pyg": "PyTorch Geometric NeighborLoader + SAGEConv (25, 10)",
    "pyg-cluster": "PyTorch Geometric ClusterLoader + SAGEConv",
    "dgl": "DGL NeighborSampler + SAGEConv (25, 10)",
}
_PARTS, _PARTS_A_STEP = 1500, 20
_GROUPS = 3
_LIMIT_SECONDS = 1800


def measure(measured: Measurements, options: Options, dataset: Dataset, *, hidden: int) -> None:
    """Add each peer's epoch, extrapolated from some steps, or the reason why it could not be measured."""
    request = {
        "threads": torch.get_num_threads(),
        "batch_size": options.batch_size,
        "hidden": hidden,
        "fanout": FANOUT,
        "steps": options.peer_steps,
        "device": options.device,
        "num_parts": _PARTS,
        "parts_a_step": _PARTS_A_STEP,
    }
    measured.facts["peers"] = {}
    with draft_folder(Path(tempfile.gettempdir(), "peers")) as scratch:
        folder = _folder(dataset, scratch)
        for peer in options.peers:
            for run in _RUNS[peer]:
                answer = run_worker(options.peer_python.get(peer, sys.executable), run, folder, request)
                measured.facts["peers"][run] = answer
                _add(measured, run, answer)


def run_worker(python: str, run: str, folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    """Run the worker with an interpreter; return what it prints, or the reason of its failure as ``absent``."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(request["threads"]), "DGLBACKEND": "pytorch"}
    command = [python, str(WORKER), run, str(folder), json.dumps(request)]
    try:
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, env=environment, timeout=_LIMIT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return {"peer": run, "absent": f"not done within {_LIMIT_SECONDS} s"}
    except OSError as error:
        return {"peer": run, "absent": f"its interpreter cannot be run ({error.strerror})"}
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {"peer": run, "absent": lines[-1]}
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def _add(measured: Measurements, run: str, answer: dict[str, Any]) -> None:
    label = _LABELS[run]
    if "absent" in answer:
        measured.notes.append(f"{label}: not measured: {answer['absent']}")
        return
    steps, name = answer["step_seconds"], run.replace("-", "_")
    groups = [part.mean() for part in np.array_split(np.array(steps), min(_GROUPS, len(steps)))]
    basis = f"{len(steps)} of {answer['steps_an_epoch']:,} steps, in {len(groups)} groups"
    measured.add(name, f"{label}, epoch", [float(g) for g in groups], factor=answer["steps_an_epoch"], basis=basis)
    measured.add(f"{name}_nodes", f"{label}, nodes a batch", answer["nodes"], unit="nodes")
    measured.add(f"{name}_memory", f"{label}, peak memory", [answer["peak_memory_bytes"]], unit="B")
    measured.add_ratio(name, f"{label} over our epoch", name, "epoch")


def _folder(dataset: Dataset, scratch: Path) -> Path:
    """A dataset folder for training: the stored one, or a copy without the nodes that training leaves out."""
    if dataset.path is not None:
        return dataset.path
    if not dataset.inductive or dataset.split is None:
        stored = storage.save(dataset, scratch / "data")
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
