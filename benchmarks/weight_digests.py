"""Print a digest of the weights that each method reaches on Cora (3 epochs, seed 0, CPU, one thread).

A change that must not alter results prints the same list before and after, on the same machine:

    python benchmarks/weight_digests.py > before.json
    python benchmarks/weight_digests.py --check before.json

``weight_digests.json`` beside this file was printed before methods became classes, on one x86-64 machine with the
packages of ``constraints.txt``; other processors may round differently. Its lines of ``ladies`` and ``as-gcn`` are
newer: of LADIES' version 2 and of AS-GCN's learning rate of 0.001. So are those with dropout of hidden units (``sign``,
``graphsage-lstm``, and three with ``dropout=``), which ``mggcn.kernels.dropout`` draws since then.
"""

import argparse
import hashlib
import json
import sys
from pathlib import Path

import torch

import mggcn
from mggcn.methods import METHODS

VARIANTS: dict[str, list[dict[str, object]]] = {
    "mg-gcn": [
        {"conv": "gcn", "layers": 3},
        {"conv": "pool", "layers": 3},
        {"conv": "lstm", "layers": 3},
        {"conv": "gat", "layers": 3},
        {"layers": 3, "dropout": 0.5, "bias": True},
        {"fine": False},
        {"skip": False, "layers": 3},
        {"explore": "breadth", "pick_by": "uniform"},
        {"redraw": "once", "fine_self": False, "skip_self": False, "padding": "none"},
    ],
    "gcn": [{"batches": "full", "layers": 3, "dropout": 0.5}],
    "graphsage-mean": [{"normalise": True, "full_eval": True}],
    "as-gcn": [{"skip": True, "precompute": True, "layers": 3}],
    "vr-gcn": [{"dropout": 0.3, "layers": 3}],
    "fastgcn": [{"precompute": False, "candidates": "all"}],
    "ladies": [{"propagation": "symmetric", "normalise": False}],
    "cluster-gcn": [{"conv": "mean", "diagonal": 0.5}],
}


def digest(dataset: mggcn.Dataset, method: str, settings: dict[str, object]) -> str:
    """The sha256 of all weights and buffers, in the order of the module's state."""
    run = mggcn.fit(dataset, method, seed=0, device="cpu", preset="paper", settings={"epochs": 3, **settings})
    digest = hashlib.sha256()
    for tensor in run.model.state_dict().values():
        digest.update(tensor.contiguous().numpy().tobytes())
    digest.update(repr(run.record.test_accuracy).encode())
    return digest.hexdigest()[:16]


def main() -> int:
    """Print the digests as JSON, or compare them with a file of such."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", type=Path, help="a file that this script printed earlier")
    before = parser.parse_args().check
    torch.set_num_threads(1)
    dataset = mggcn.load("cora")
    found = {}
    for method in METHODS:
        for settings in [{}, *VARIANTS.get(method, [])]:
            label = " ".join([method, *(f"{name}={value}" for name, value in settings.items())])
            found[label] = digest(dataset, method, settings)
    if before is None:
        print(json.dumps(found, indent=1))  # noqa: T201
        return 0
    expected = json.loads(before.read_text())
    changed = [label for label in expected if found.get(label) != expected[label]]
    print("\n".join([*(f"changed: {label}" for label in changed), f"{len(expected)} digests, {len(changed)} changed"]))  # noqa: T201
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
