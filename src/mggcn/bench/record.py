"""The record of a section: everything measured, the command and the machine, as one JSON file."""

import json
import os
from pathlib import Path
from typing import Any

import torch

from mggcn.bench.options import Options
from mggcn.bench.sheet import Sheet
from mggcn.dataset import Dataset
from mggcn.kernels import threads as threading
from mggcn.records import environment

FORMAT = 1


def load() -> float:
    """How many processes wanted a core in the last minute: more than there are cores, and times are too long."""
    return os.getloadavg()[0]


def compose(
    section: str, options: Options, dataset: Dataset, device: torch.device, sheet: Sheet, before: float
) -> dict[str, Any]:
    """The record as a JSON object; ``before`` is the machine's load when the section began."""
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
        "machine": environment.describe() | {"load_before": before} | _gpu(device),
        "threads": {"kernels": threading.available(), "torch": torch.get_num_threads()},
        **vars(sheet),
    }


def path_of(section: str, options: Options) -> Path:
    """Where the record of a section goes."""
    name = Path(options.dataset).name.replace(":", "-")
    return options.out / f"{section}-{name}-{options.scale:g}-{options.device}.json"


def write(record: dict[str, Any], path: Path) -> None:
    """Write a record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2) + "\n")


def _gpu(device: torch.device) -> dict[str, Any]:
    if device.type != "cuda":
        return {}
    return {"gpu": torch.cuda.get_device_name(device), "cuda": torch.version.cuda}
