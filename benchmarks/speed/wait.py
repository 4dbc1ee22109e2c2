"""The wait section: where the time of a complete ``mggcn train`` goes, in a first run and in later ones."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from benchmarks.speed import wait_runner
from benchmarks.speed.options import Options
from benchmarks.speed.timing import Measurements
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError

CACHES = ("NUMBA_CACHE_DIR", "TRITON_CACHE_DIR")  # of compiled kernels
_PHASES = {
    "python": "start of Python",
    "torch": "import of torch",
    "load": "loading the data",
    "prepare": "preparation",
    "compile": "compiling kernels",
    "capture": "first steps and capture",
    "epochs": "epochs",
    "evaluation": "evaluation",
    "test": "test",
    "page": "the run's page",
    "other": "other imports and the rest",
}


def measure(options: Options, dataset: Dataset, device: torch.device) -> Measurements:  # noqa: ARG001
    """Time complete commands: the first without any compiled kernel, then ``repeats`` that find those of the first."""
    with tempfile.TemporaryDirectory() as scratch:
        runs = [_run(options, device, Path(scratch), number) for number in range(options.repeats + 1)]
    first, later = runs[0], runs[1:]
    measured = Measurements(facts={"settings": dict(options.settings), "preset": options.preset})
    measured.add("first", "first run, all", [sum(first.values())])
    measured.add("later", "later run, all", [sum(run.values()) for run in later])
    measured.add("beyond", "later run, beyond the import of torch", [sum(run.values()) - run["torch"] for run in later])
    for phase, label in _PHASES.items():
        for name, some in (("first", [first]), ("later", later)):
            if any(phase in run for run in some):
                measured.add(f"{name}_{phase}", f"{name} run: {label}", [run.get(phase, 0.0) for run in some])
    measured.notes.append("the first run compiles every kernel; the data are on this machine in all runs")
    return measured


def _run(options: Options, device: torch.device, scratch: Path, number: int) -> dict[str, float]:
    """The seconds of each phase of one command in a process of its own; together they are all of its time."""
    out = scratch / f"{number}.json"
    words = [
        "train",
        options.source,
        "--preset",
        options.preset,
        "--device",
        device.type,
        "--quiet",
        "--out",
        str(scratch),
    ]
    words += ["--root", str(options.root)] if options.root else []
    words += ["--set", *(f"{name}={value}" for name, value in options.settings.items())] if options.settings else []
    variables = {**os.environ, **{name: str(scratch / name) for name in CACHES}}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)  # what pip installs has its bytecode
    began = time.time()
    command = [sys.executable, "-P", wait_runner.__file__, str(out), *words]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)  # noqa: S603
    total = time.time() - began
    if done.returncode:
        error = (done.stderr.strip().splitlines() or [""])[-1]
        raise InputError(f"mggcn {' '.join(words)}: exit code {done.returncode}: {error}")
    spent = json.loads(out.read_text())
    phases = {"python": spent["began"] - began, "torch": spent["torch"], **spent["phases"]}
    return {**phases, "other": total - sum(phases.values())}
