"""Print a digest of the weights that each method reaches on Cora (3 epochs, seed 0, CPU, one thread).

A change that must not alter results finds them all equal, on the machine that made ``weight_digests.json``:

    python benchmarks/weight_digests.py --check

Other processors may round differently. There, and after a change that is meant to alter results, make the list first:

    python benchmarks/weight_digests.py > benchmarks/weight_digests.json
"""

import argparse
import hashlib
import json
import sys
from pathlib import Path

import torch

import mggcn
from mggcn.methods import METHODS

DIGESTS = Path(__file__).with_suffix(".json")
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
    "gamlp": [{"attention": "recursive"}],
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
    """Print the digests as JSON, or compare them with a list; exit code 1 if one differs, is new or is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--check", nargs="?", type=Path, const=DIGESTS, help="compare with a list that this script printed earlier"
    )
    before = parser.parse_args().check
    torch.set_num_threads(1)
    dataset = mggcn.load("cora")
    expected = None if before is None else json.loads(before.read_text())
    if expected is not None and expected.pop("data") != dataset.digest:
        print(f"{before} is of another Cora than {dataset.source}: set MGGCN_DATA to the folder of Planetoid's files")  # noqa: T201
        return 2
    found: dict[str, str] = {}
    for method in METHODS:
        for settings in [{}, *VARIANTS.get(method, [])]:
            label = " ".join([method, *(f"{name}={value}" for name, value in settings.items())])
            found[label] = digest(dataset, method, settings)
    if expected is None:
        print(json.dumps({"data": dataset.digest, **found}, indent=1))  # noqa: T201
        return 0
    changed = [label for label in expected | found if found.get(label) != expected.get(label)]
    print("\n".join([*(f"changed: {label}" for label in changed), f"{len(found)} digests, {len(changed)} changed"]))  # noqa: T201
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
