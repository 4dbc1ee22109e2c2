"""Invented records, for tests of what reads them."""

from pathlib import Path
from typing import Any

from mggcn.experiments import Ledger
from mggcn.training._record import Epoch, RunRecord


def record(method: str = "gcn", seed: int = 0, **changes: Any) -> RunRecord:
    """A record with some fields changed."""
    fields: dict[str, Any] = {
        "dataset": {"name": "cora", "digest": "", "path": None, "num_nodes": 2708, "split": [1208, 500, 1000]},
        "method": method,
        "seed": seed,
        "settings": {"lr": 0.01, "bias": True},
        "device": "cpu",
        "epochs": 3,
        "best_epoch": 2,
        "val_loss": 0.5,
        "val_accuracy": 0.8,
        "val_macro_f1": 0.8,
        "test_accuracy": 0.86 + seed / 100,
        "test_macro_f1": 0.7,
        "test_confusion": [[3, 1], [0, 4]],
        "epoch_seconds": 0.25,
        "prepare_seconds": 1.0,
        "seconds_to_best": 2.5,
        "seconds_to_near_best": 1.75,
        "total_seconds": 9.0,
        "peak_memory_bytes": 100 << 20,
        "nodes_per_batch": 17.5,
        "curve": [Epoch(n, 1.0, float("nan"), 0.5 + n / 10, 0.25, 0.5) for n in (1, 2, 3)],
        "environment": {"python": "3.11", "packages": {"torch": "2.6", "mggcn": None}, "commit": "abc<d>"},
    }
    return RunRecord(**(fields | changes))


RECORDS = [
    record(),
    record(seed=1),
    record("mlp", test_accuracy=0.7, seconds_to_best=6.5),
    record(
        "label-propagation",
        test_accuracy=0.65,
        epochs=0,
        best_epoch=0,
        seconds_to_best=1.0,
        curve=[],
        nodes_per_batch=0.0,
    ),
    record("sgc", dataset={"name": "<pubmed>"}),
]


def ledger(path: Path, records: list[RunRecord] = RECORDS) -> Path:
    """A ledger of records under their numbers."""
    book = Ledger(path)
    for number, one in enumerate(records):
        book.add(str(number), one)
    return path
