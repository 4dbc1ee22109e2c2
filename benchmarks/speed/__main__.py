"""Runs the sections one after the other, and writes and prints a JSON record of each.

python -m benchmarks.speed all --scale 0.01
python -m benchmarks.speed baselines --dataset pubmed --libraries pyg dgl
python -m benchmarks.speed epoch --dataset pubmed --preset default --runs 5
python -m benchmarks.speed.page                (writes docs/speed.md from the records)
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.speed import baselines, epoch, pick, prepare, wait
from benchmarks.speed.load import Load
from benchmarks.speed.options import Options, parse
from benchmarks.speed.page import section_of
from benchmarks.speed.timing import Measurements
from mggcn.data import load
from mggcn.data._dataset import Dataset
from mggcn.errors import InputError
from mggcn.kernels import threads as threading
from mggcn.training import _environment as environment
from mggcn.training._compute import choose_device

FORMAT = 1

_MEASURES: dict[str, Callable[[Options, Dataset, torch.device], Measurements]] = {
    "pick": pick.measure,
    "prepare": prepare.measure,
    "epoch": epoch.measure,
    "wait": wait.measure,
    "baselines": baselines.measure,
}


def run(options: Options, show: Callable[[dict[str, Any]], object] | None = None) -> dict[str, dict[str, Any]]:
    """Run the sections that ``options`` name, and return the record of each, as written to its file.

    Args:
        options: what to measure.
        show: called with each record as soon as it is written.
    """
    options.out.mkdir(parents=True, exist_ok=True)
    device = choose_device(options.device)
    dataset = load(options.source, root=options.root, mmap=True)
    records = {}
    for section in options.sections:
        load_of = Load()
        runs = [_MEASURES[section](options, dataset, device) for _ in range(options.runs)]
        measured = Measurements.median_of(runs)
        records[section] = _record(section, options, dataset, device, measured, load_of.facts())
        path_of(section, options).write_text(json.dumps(records[section], indent=2) + "\n")
        if show is not None:
            show(records[section])
    return records


def path_of(section: str, options: Options) -> Path:
    """The file of a section's record."""
    name = Path(options.dataset).name.replace(":", "-")
    variant = "" if options.variant == "paper" else f"-{options.variant}"
    return options.out / f"{section}-{name}-{options.scale:g}-{options.device}{variant}.json"


def _record(
    section: str,
    options: Options,
    dataset: Dataset,
    device: torch.device,
    measured: Measurements,
    load_of: dict[str, Any],
) -> dict[str, Any]:
    gpu = {"gpu": torch.cuda.get_device_name(device), "cuda": torch.version.cuda} if device.type == "cuda" else {}
    return {
        "format": FORMAT,
        "what": section,
        "command": options.command,
        "dataset": {
            "name": dataset.name,
            "scale": options.scale,
            "source": dataset.source,
            "num_nodes": dataset.num_nodes,
            "num_stored": dataset.graph.num_stored,
            "num_features": dataset.num_features,
            "num_train": dataset.split.train.size if dataset.split else 0,
        },
        "device": device.type,
        **({"variant": options.variant} if options.variant != "paper" else {}),
        "machine": environment.describe() | load_of | gpu,
        "threads": {"kernels": threading.available(), "torch": torch.get_num_threads()},
        **vars(measured),
    }


def main(words: Sequence[str] | None = None) -> int:
    """Measure what a command line asks for; for bad input print one line on standard error and return 2."""
    try:
        run(parse(words), lambda record: sys.stdout.write(section_of(record)))
    except (InputError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
